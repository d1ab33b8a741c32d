import { describe, expect, it } from 'vitest';
import { credentialObject, recordOf } from '../../../test/builders/credential-object.ts';
import { labels } from '../../api/names.ts';
import { renderCredentialSecret } from '../../credentials/credential-secret.ts';
import type { KubeObject } from '../../kube/object.ts';
import { inPlaceOf } from './secret-of-others.ts';

const record = recordOf(
  credentialObject({ spec: { user: 'alice', secretRef: { namespace: 'ci', name: 'out' } } }),
);
const location = { namespace: 'ci', name: 'out', entry: 'key' };
const secret = renderCredentialSecret(record, location, {
  ...{ serial: 2, credential: 'lk_x' },
  state: { reason: 'Issued' },
});
const fields = (manager: string, ...names: readonly string[]) => ({
  manager,
  fieldsV1: {
    'f:metadata': {
      'f:labels': Object.fromEntries([['.', {}], ...names.map((name) => [`f:${name}`, {}])]),
      'f:annotations': Object.fromEntries(names.map((name) => [`f:${name}`, {}])),
    },
  },
});
const present = (...managedFields: readonly object[]) =>
  ({
    ...secret,
    metadata: {
      ...secret.metadata,
      uid: 's',
      resourceVersion: '9',
      labels: { ...secret.metadata.labels, mine: '1', theirs: '2' },
      annotations: { ...secret.metadata.annotations, mine: '1', theirs: '2' },
      finalizers: ['example.com/backup'],
      managedFields,
    },
    data: { ...secret.data, theirs: 'eA==' },
  }) as unknown as KubeObject;

describe('a Secret that is written in place of the present one', () => {
  it('loses what the operator put there before, and nothing of others', () => {
    const { metadata } = inPlaceOf(
      present(fields('latchkey-operator', 'mine'), fields('kubectl', 'theirs')),
      secret,
    );
    expect(metadata.labels).toEqual({ ...secret.metadata.labels, theirs: '2' });
    expect(metadata.annotations).toEqual({ ...secret.metadata.annotations, theirs: '2' });
    expect(metadata).toMatchObject({ uid: 's', resourceVersion: '9', finalizers: ['example.com/backup'] });
  });

  it('keeps what another one asks for as well', () => {
    const { metadata } = inPlaceOf(
      present(fields('latchkey-operator', 'mine'), fields('kubectl', 'mine', 'theirs')),
      secret,
    );
    expect(metadata.labels).toMatchObject({ mine: '1', theirs: '2' });
  });

  it('keeps no name of ours that somebody planted', () => {
    const planted = present(fields('kubectl', labels.ephemeral));
    Object.assign(planted.metadata.labels ?? {}, { [labels.ephemeral]: 'true', [labels.serial]: '99' });
    const { metadata } = inPlaceOf(planted, secret);
    expect(metadata.labels).not.toHaveProperty([labels.ephemeral]);
    expect(metadata.labels).toMatchObject({ [labels.serial]: '2' });
  });

  it('is still owned once by its object, and by others that were there', () => {
    const owners = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'c', uid: 'c' }];
    const owned = present();
    Object.assign(owned.metadata, { ownerReferences: [...owners, ...secret.metadata.ownerReferences] });
    expect(inPlaceOf(owned, secret).metadata.ownerReferences).toEqual([
      ...owners,
      ...secret.metadata.ownerReferences,
    ]);
  });

  it('holds no data of others', () => {
    expect(inPlaceOf(present(), secret).data).toEqual(secret.data);
  });
});
