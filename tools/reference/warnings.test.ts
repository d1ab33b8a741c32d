import { expect, it } from 'vitest';
import { specWarnings } from '../../src/gateway/endpoints/own/spec-warnings.ts';
import { codesIn, readDocument, rowsOf, sectionOf } from './document.ts';

const rows = rowsOf(sectionOf(readDocument('docs/reference/warnings.md'), 'Fields'));
const dubious = {
  rules: [{ verbs: ['get'] }],
  allowPlatformCli: true,
  parent: 'other',
  oidcLogin: { lastRefresh: '2026-11-21T10:00:00Z' },
  ttl: 40_000_000,
  certificateTTL: 40_000_000,
  scope: { rules: [{ verbs: ['get'] }], allowLoftCli: true, roles: [{ role: 'x' }] },
};
const empty = { scope: {} };

it('docs/reference/warnings.md lists each warning of the gateway, by the field that it begins with', () => {
  const said = [
    specWarnings({ kind: 'OwnedAccessKey', spec: dubious, former: undefined }),
    specWarnings({ kind: 'OwnedAccessKey', spec: empty, former: undefined }),
    specWarnings({ kind: 'DirectClusterEndpointToken', spec: dubious, former: { ttl: 60 } }),
    specWarnings({ kind: 'VirtualClusterInstanceKubeConfig', spec: dubious, former: {} }),
  ].flat();
  const fields = said.map((text) => text.replace(/(\[\d+\]\.role)?: .*$/, ''));
  const listed = rows.flatMap(([field]) => codesIn(field).filter((code) => code.startsWith('spec.')));
  expect(new Set(fields)).toEqual(new Set(listed));
});
