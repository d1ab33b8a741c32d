import { expect, it } from 'vitest';
import { withSchemaHint } from './spec-warnings.ts';

const refusal = (message: string, status = 422) => ({ status, body: { kind: 'Status', message } });
const begin = 'OwnedAccessKey.management.platform.sh "a" is invalid: ';

it.each([
  [
    'a time with its unit',
    'spec.ttl: Invalid value: "string": spec.ttl in body must be of type integer: "string"',
    /^299 - "spec\.ttl is a whole number of seconds/,
  ],
  [
    'a fraction of a second',
    'spec.certificateTTL: Invalid value: "number": spec.certificateTTL in body must be of type integer: "number"',
    /^299 - "spec\.certificateTTL is a whole number of seconds/,
  ],
  [
    'a list of names of clusters',
    'spec.scope.clusters[0]: Invalid value: "string": spec.scope.clusters[0] in body must be of type object: "string"',
    /write \{cluster: <name>\}"$/,
  ],
  [
    'a list of names of virtual clusters',
    'spec.scope.virtualClusters[3]: Invalid value: "string": spec.scope.virtualClusters[3] in body must be of type object: "string"',
    /write \{project: <project>, virtualCluster: <name>\}"$/,
  ],
  [
    'the life of a kubeconfig as that of a key',
    'strict decoding error: unknown field "spec.ttl"',
    /^299 - "a kubeconfig has no spec\.ttl: its life is spec\.certificateTTL, in seconds"$/,
  ],
])('who sends %s is told how it is written', (_, message, warning) => {
  expect(withSchemaHint(refusal(begin + message)).headers?.['warning']).toEqual([
    expect.stringMatching(warning),
  ]);
});

it.each([
  ['for another field', refusal(`${begin}spec.displayName in body must be of type string: "integer"`)],
  ['that is none of a schema', refusal(`${begin}spec.ttl in body must be of type integer`, 403)],
  ['without a message', { status: 422, body: {} }],
])('a refusal %s stays as it is', (_, reply) => {
  expect(withSchemaHint(reply)).toBe(reply);
});
