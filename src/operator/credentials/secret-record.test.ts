import { describe, expect, it } from 'vitest';
import { liveRecord } from '../../../test/builders/credential-object.ts';
import { apiVersion, labels } from '../../api/names.ts';
import { renderCredentialSecret } from '../../credentials/credential-secret.ts';
import { credentialHash } from '../../credentials/keys/credential-hash.ts';
import type { KubeObject } from '../../kube/object.ts';
import { toSecretRecord } from './secret-record.ts';

const owner = liveRecord({ name: 'ci' });
const location = { namespace: 'default', name: 'out', entry: 'key' };
const rendered = renderCredentialSecret(owner, location, {
  ...{ serial: 3, credential: 'the credential' },
  state: { reason: 'Issued' },
});
const stored = (metadata: object = {}) =>
  ({
    ...rendered,
    metadata: { ...rendered.metadata, uid: 's', resourceVersion: '5', ...metadata },
  }) as unknown as KubeObject;

describe('toSecretRecord', () => {
  it('knows a Secret of ours by owner, serial and hash, without its content', () => {
    const record = toSecretRecord(stored());
    expect(record).toMatchObject({
      key: 'default/out',
      ownerUID: owner.uid,
      serial: 3,
      purpose: 'credential',
      state: 'Issued',
    });
    expect(record?.hashes?.get('key')).toBe(credentialHash('the credential'));
    expect(JSON.stringify(record)).not.toContain(Buffer.from('the credential').toString('base64'));
  });

  it.each([
    ['without our label', { labels: {} }],
    ['with our labels only, as a tool copies it or an attacker makes it', { ownerReferences: undefined }],
    ['with the owner of another', { ownerReferences: [{ uid: 'another', apiVersion }] }],
    ['with an owner of another group', { ownerReferences: [{ uid: owner.uid, apiVersion: 'v1' }] }],
  ])('leaves a Secret alone %s', (_, metadata) => {
    expect(toSecretRecord(stored(metadata))).toBeUndefined();
  });

  it('keeps nothing of a Secret with more entries than Latchkey writes', () => {
    const data = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`entry-${index}`, '']));
    expect(toSecretRecord({ ...stored(), data } as KubeObject)?.hashes?.size).toBe(0);
  });

  it('knows that an earlier release wrote no state', () => {
    expect(toSecretRecord(stored({ annotations: undefined }))?.state).toBe('');
  });

  it('takes an altered serial as no serial of ours', () => {
    const marks = { ...rendered.metadata.labels, [labels.serial]: 'x' };
    expect(toSecretRecord(stored({ labels: marks }))?.serial).toBeNaN();
  });
});
