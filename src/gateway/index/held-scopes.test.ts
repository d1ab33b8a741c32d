import { expect, it } from 'vitest';
import { confirmed, credentialObject } from '../../../test/builders/credential-object.ts';
import type { LiveRecord } from '../../credentials/record.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { InformerSource } from '../../platform/informers.ts';
import { CredentialRecords } from './credential-records.ts';

function project(object: object): LiveRecord {
  const records = new CredentialRecords();
  const sources = new Map<string, InformerSource<LiveRecord>>();
  records.addTo({ add: (name, source) => void sources.set(name, source as never) });
  const source = sources.get('ownedaccesskeys');
  return source?.toRecord(object as KubeObject) as LiveRecord;
}

const scope = { projects: [{ project: 'shop' }] };
const rules = [{ verbs: ['get'] }];

it.each<[string, object]>([
  ['a scope', { scope }],
  ['rules alone', { rules }],
  ['both', { scope, rules }],
])('keeps no scope of what is not confirmed, so that no user fills the memory: %s', (_, limits) => {
  const object = credentialObject({ spec: { user: 'alice', ...limits } });
  // Without any scope it would have no limits.
  expect(project(object)).toMatchObject({ scope: {} });
  expect(project(object)).not.toHaveProperty('rules');
  expect(project(confirmed(object))).toMatchObject(limits);
});

it('leaves a credential without a scope as it is', () => {
  const object = credentialObject({ spec: { user: 'alice' } });
  expect(project(object).scope).toBeUndefined();
});
