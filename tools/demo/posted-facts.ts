import path from 'node:path';
import { trustingClusterName } from '../../lab/gateway/trusting-configuration.ts';
import { group, version } from '../../src/api/names.ts';
import { read, readSoon } from './cluster.ts';
import type { DemoGateway } from './gateway.ts';
import { curl, sampleKey } from './gateway-facts.ts';
import { use } from './kubeconfig-facts.ts';
import { type Planes, projectNamespace } from './virtual-cluster.ts';

/** The demo's facts about credentials that one POST each has made. No credential is among them. */
export interface PostedFacts {
  readonly key: Posted;
  readonly token: Posted;
  readonly kubeConfig: Posted;
}

interface Posted {
  /** The body of the POST, in YAML. */
  readonly body: string;
  readonly url: string;
  /** Kind and name in the answer. */
  readonly made: string;
  /** A kubeconfig with the credential, readable by this user only. */
  readonly file: string;
  /** Output of kubectl with nothing but the credential. */
  readonly output: string;
}

/** The cluster that takes tokens by itself. */
export interface TrustingFacts {
  readonly server: string;
  readonly caFile: string;
}

interface MadeObject {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: { readonly key?: string };
  readonly status: { readonly token?: string; readonly kubeConfig?: string };
}

/** Where holders make what is theirs. */
export const apiURL = (baseURL: string): string =>
  `${baseURL}/kubernetes/management/apis/${group}/${version}`;

export const trustingFacts = ({ virtual }: Planes): TrustingFacts => ({
  server: virtual.server,
  caFile: path.join(virtual.folder, 'pki', 'ca.crt'),
});

/** Makes one credential of each kind by POST with the access key of the user, and uses them. Undefined without curl. */
export async function collectPosted(
  { platform, virtual }: Planes,
  kubeconfig: string,
  { running, baseURL, caFile }: DemoGateway,
): Promise<PostedFacts | undefined> {
  const key = await read(platform, ['get', 'oak', sampleKey, '-o', 'jsonpath={.spec.key}'], kubeconfig);
  const post = async (place: string, body: string) => {
    const url = `${apiURL(baseURL)}/${place}`;
    const text = await curl({ url, caFile, key, body });
    if (text === undefined) return undefined;
    const { kind, metadata, spec, status } = JSON.parse(text) as MadeObject;
    return { shown: { url, body, made: `${kind} "${metadata.name}"` }, name: metadata.name, spec, status };
  };
  const oak = await post('ownedaccesskeys', 'spec: { ttl: 3600 }');
  const scope = `{ clusters: [{ cluster: ${trustingClusterName} }] }`;
  const token = await post('directclusterendpointtokens', `spec: { ttl: 3600, scope: ${scope} }`);
  const place = `namespaces/${projectNamespace}/virtualclusterinstances/shop/kubeconfig`;
  const document = await post(place, 'spec: { certificateTTL: 3600 }');
  if (oak === undefined || token === undefined || document === undefined) return undefined;
  const keyFile = await running.kubeconfig(oak.spec.key ?? '');
  const tokenFile = await virtual.kubeconfigWithToken('posted', token.status.token ?? '');
  const issued = { name: 'posted', text: document.status.kubeConfig ?? '' };
  const { file, namespaces } = await use(platform, issued);
  const whoAmI = ['auth', 'whoami'];
  return {
    key: { ...oak.shown, file: keyFile, output: await readSoon(platform, whoAmI, keyFile) },
    token: { ...token.shown, file: tokenFile, output: await readSoon(virtual, whoAmI, tokenFile) },
    kubeConfig: { ...document.shown, file, output: namespaces },
  };
}
