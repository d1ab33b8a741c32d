import { describe, expect, it } from 'vitest';
import { finalizers as finalizerNames } from '../../../api/names.ts';
import type { OwnRequest } from './request.ts';
import { unmatchedScope, untrustedIssuer, warnOfKeptFinalizer, withChangeWarnings } from './warnings.ts';

const kind = 'OwnedAccessKey';

describe('a scope that names nothing that is there', () => {
  const known = new Set(['project/demo', 'namespace/p-demo', 'cluster/staging']);
  const said = (scope: object | null, stored?: object) =>
    unmatchedScope(
      kind,
      { object: { spec: { scope } }, ...(stored && { stored: { spec: stored } }) },
      (name) => known.has(name),
    );
  const unmatched = (what: string) =>
    `spec.scope: Nothing that spec.scope names exists (there is no ${what}), so the scope allows next to nothing: correct the name, or create what it names`;

  it.each([
    ['a cluster', { clusters: [{ cluster: 'stagin' }] }, 'cluster stagin'],
    [
      'a virtual cluster',
      { virtualClusters: [{ project: 'demo', virtualCluster: 'shop' }] },
      'virtual cluster demo/shop',
    ],
    [
      'the namespace of a project in place of the project',
      { projects: [{ project: 'p-demo' }] },
      'project p-demo, which is the namespace of one: leave out the prefix that it begins with',
    ],
  ])('is told at once: %s', (_, scope, what) => {
    expect(said(scope)).toBe(unmatched(what));
    expect(said(scope, { scope: { clusters: [{ cluster: 'staging' }] } })).toBe(unmatched(what));
  });

  it.each([
    ['one of its names is there', { clusters: [{ cluster: 'a' }, { cluster: 'staging' }] }, undefined],
    ['it names nothing', {}, undefined],
    ['it is as it was', { clusters: [{ cluster: 'a' }] }, { scope: { clusters: [{ cluster: 'a' }] } }],
  ])('is no warning where %s', (_, scope, stored) => {
    expect(said(scope, stored)).toBeUndefined();
  });
});

describe('the reply to a creation', () => {
  const replyTo = (query: string) => {
    const request = {
      kind,
      query: new URLSearchParams(query),
      services: { targetRecords: { known: { has: () => false } }, settings: { trustedIssuers: [] } },
      sender: { verdict: { gates: [] } },
    } as unknown as OwnRequest;
    const object = { spec: { scope: { clusters: [{ cluster: 'a' }] } } };
    const warnings = withChangeWarnings(request, { status: 201, body: object }, { object }).headers?.[
      'warning'
    ];
    return String(warnings);
  };

  it('says that a scope names nothing that is there, but not to who only tries', () => {
    expect(replyTo('')).toContain('there is no cluster a');
    expect(replyTo('dryRun=All')).not.toContain('there is no');
  });
});

describe('a change that takes the finalizer off', () => {
  const finalizers = [finalizerNames.OwnedAccessKey];
  const said = (metadata: object, old: object = {}, status = 200) =>
    warnOfKeptFinalizer(
      { status, body: {} },
      { kind, changed: { metadata }, stored: { metadata: { finalizers, ...old } } },
    ).headers?.['warning'];

  it.each([{ uid: '1' }, { uid: '1', finalizers: [] }, { uid: '1', finalizers: ['a/b'] }])(
    'is told that it stays: %j',
    (metadata) => {
      expect(said(metadata)).toEqual([
        '299 - "metadata.finalizers: management.platform.sh/ownedaccesskey stays, because the credential is ended before the object goes; delete the object, and it comes off by itself"',
      ]);
    },
  );

  it.each<[string, object, object?, number?]>([
    ['leaves it', { uid: '1', finalizers }],
    ['does not know of it', {}],
    ['is refused', { uid: '1' }, {}, 403],
    ['is one of an object that is going', { uid: '1' }, { deletionTimestamp: '2026-11-21T10:00:00Z' }],
    ['never had one', { uid: '1' }, { finalizers: [] }],
  ])('is told nothing where it %s', (_, metadata, old, status) => {
    expect(said(metadata, old, status)).toBeUndefined();
  });
});

describe('an issuer of tokens', () => {
  const url = 'https://issuer.example.com';
  const object = (...issuers: string[]) => ({
    spec: { exchange: { tokens: issuers.map((issuer) => ({ issuer, claims: { sub: 'x' } })) } },
  });
  const said = (spec: object, stored?: object) =>
    untrustedIssuer({ object: spec as never, ...(stored && { stored: stored as never }) }, [{ issuer: url }]);

  it('that the settings do not name is said by its place, as long as it is new', () => {
    const unknown = object(url, `${url}/`);
    expect(said(unknown)).toMatch(/^spec\.exchange\.tokens\[1\]\.issuer: LATCHKEY_TRUSTED_ISSUERS does not/);
    expect(said(unknown, object(url))).toBeDefined();
    expect(said(unknown, unknown)).toBeUndefined();
  });

  it.each([
    ['named by the settings', object(url)],
    ['not there', {}],
    ['of ServiceAccounts alone', { spec: { exchange: { serviceAccounts: [] } } }],
  ])('that is %s needs no warning', (_, spec) => {
    expect(said(spec)).toBeUndefined();
  });
});
