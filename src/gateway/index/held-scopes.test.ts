import { expect, it } from 'vitest';
import { confirmed, credentialObject } from '../../../test/builders/credential-object.ts';
import { annotations } from '../../api/names.ts';
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
])('keeps no scope of what grants nothing, so that no user fills the memory: %s', (_, limits) => {
  const object = credentialObject({ spec: { user: 'alice', key: 'example-plain-key-of-alice', ...limits } });
  const good = confirmed(object);
  expect(project(good)).toMatchObject(limits);
  const others = {
    'not confirmed': object,
    'changed since': { ...good, spec: { ...good.spec, user: 'bob' } },
    disabled: { ...good, spec: { ...good.spec, disabled: true } },
    ended: { ...good, status: { ...good.status, credentialHash: undefined } },
    refused: {
      ...good,
      metadata: { ...good.metadata, annotations: { [annotations.changedBeyondLimits]: 'a/b' } },
    },
  };
  for (const [name, other] of Object.entries(others)) {
    const { scope: kept, rules: keptRules } = project(other);
    // Without any scope it would have no limits.
    expect({ name, kept, keptRules }).toEqual({ name, kept: {}, keptRules: undefined });
  }
});

it('leaves a credential without a scope as it is', () => {
  const object = credentialObject({ spec: { user: 'alice' } });
  expect(project(object).scope).toBeUndefined();
});

it('keeps whose tokens fit an ended key, for an answer that says why, unless that is long', () => {
  const exchange = (count: number) => ({
    tokens: Array.from({ length: count }, () => ({
      issuer: 'https://ci.example.com',
      claims: { sub: 'x'.repeat(200) },
    })),
  });
  const trustOf = (count: number) =>
    project(credentialObject({ spec: { user: 'alice', exchange: exchange(count) } })).exchange?.trust;
  expect(trustOf(2)).toEqual(exchange(2));
  expect(trustOf(16)).toBeUndefined();
});
