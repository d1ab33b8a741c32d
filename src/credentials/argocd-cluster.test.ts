import { describe, expect, it } from 'vitest';
import { argoCDEntries } from './argocd-cluster.ts';
import { kubeConfigDocument } from './kubeconfig-document.ts';

const ca = '-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n';
const caData = Buffer.from(ca).toString('base64');
const place = { server: 'https://latchkey.example.com/kubernetes/cluster/staging', name: 'demo/shop' };
const read = (entries: Readonly<Record<string, string>>) => ({
  ...entries,
  config: JSON.parse(entries['config'] ?? ''),
});

describe('the entries of a cluster of Argo CD', () => {
  it('hold an access key, and where it leads', () => {
    expect(read(argoCDEntries({ ...place, ca }, 'lk_x'))).toEqual({
      ...place,
      config: { bearerToken: 'lk_x', tlsClientConfig: { insecure: false, caData } },
    });
  });

  it('name no authority where clients trust the certificate anyway', () => {
    const { config } = read(argoCDEntries(place, 'lk_x'));
    expect(config).toEqual({ bearerToken: 'lk_x', tlsClientConfig: { insecure: false } });
  });

  it('hold the token of a kubeconfig, with its name and server', () => {
    const document = kubeConfigDocument({ ...place, ca, user: { token: 'a.b.c' } });
    expect(read(argoCDEntries({}, document))).toEqual({
      ...place,
      config: { bearerToken: 'a.b.c', tlsClientConfig: { insecure: false, caData } },
    });
  });

  it('hold the client certificate of a kubeconfig', () => {
    const document = kubeConfigDocument({ ...place, ca, user: { certificate: 'cert', key: 'key' } });
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    expect(read(argoCDEntries({}, document)).config).toEqual({
      tlsClientConfig: { insecure: false, caData, certData: base64('cert'), keyData: base64('key') },
    });
  });
});
