import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { configFolder } from '../../../lab/operator/kustomization.ts';
import { until } from '../../../lab/operator/until.ts';
import {
  directClusterEndpointTokens,
  ownedAccessKeys,
  type Resource,
  virtualClusterInstanceKubeConfigs,
} from '../../../src/api/resources.ts';
import { type ApiAnswer, contentTypes } from '../../integration/admission/api-client.ts';
import { credentialKinds, objectOf, pathOf, type TestObject } from '../../integration/admission/objects.ts';
import { admissionWorld, create, resourceOf, strip } from '../../integration/admission/world.ts';
import { withoutNames } from '../../integration/ownership/answers.ts';
import {
  clearPolicy,
  dropGuard,
  dropPolicy,
  policyOf,
  policyPath,
  setPolicy,
  writePolicy,
} from '../../integration/ownership/site-policy.ts';

afterAll(clearPolicy);

const config = 'in the ConfigMap latchkey-system/latchkey-site-policy';
const strict = {
  maxKeyTTL: '3600',
  maxTokenTTL: '600',
  maxCertificateTTL: '600',
  requireEnd: 'fixed',
  requireScope: 'all',
  acceptPlainKey: 'false',
};

describe('what was there before a site policy', async () => {
  const world = await admissionWorld();
  const specs: readonly (readonly [Resource, Record<string, unknown>])[] = [
    [ownedAccessKeys, { user: 'alice', key: 'x'.repeat(40), ttlAfterLastActivity: true }],
    [directClusterEndpointTokens, { ttl: 9_000_000 }],
    [virtualClusterInstanceKubeConfigs, { certificateTTL: 0 }],
  ];
  const before = new Map<Resource, TestObject>();
  const stored = (resource: Resource): TestObject => {
    const object = before.get(resource);
    if (object === undefined) throw new Error(`no ${resource.kind}`);
    return object;
  };
  const patch = async (resource: Resource, body: object): Promise<ApiAnswer> =>
    await world.admin.send('PATCH', pathOf(resource, stored(resource).metadata.name), {
      body,
      contentType: contentTypes.mergePatch,
    });

  beforeAll(async () => {
    await dropPolicy(world);
    for (const [resource, spec] of specs)
      before.set(resource, await create(world.admin, objectOf(resource, spec)));
    await setPolicy(world, strict);
  });

  it.each(credentialKinds)('is told by another like it that the policy acts: $kind', async (resource) => {
    const { spec } = stored(resource);
    const answer = await world.admin.send('POST', pathOf(resource), { body: objectOf(resource, spec) });
    expect(answer.status).toBe(403);
  });

  it.each(credentialKinds)('gets labels: $kind', async (resource) => {
    expect((await patch(resource, { metadata: { labels: { a: 'b' } } })).status).toBe(200);
  });

  it.each(credentialKinds)('gets a change of another field: $kind', async (resource) => {
    const change =
      resource === ownedAccessKeys
        ? { description: 'new' }
        : { secretRef: { namespace: 'default', name: 'a' } };
    const { namespace: _, ...own } = { namespace: '', name: 'a', ...change.secretRef };
    const spec = resource === virtualClusterInstanceKubeConfigs ? { secretRef: own } : change;
    expect((await patch(resource, { spec })).status).toBe(200);
  });

  it.each(credentialKinds)('is sent again as it is, as a self-heal does: $kind', async (resource) => {
    const path = pathOf(resource, stored(resource).metadata.name);
    const { body } = await world.admin.send('GET', path);
    expect((await world.admin.send('PUT', path, { body })).status).toBe(200);
  });

  it('is disabled', async () => {
    expect((await patch(ownedAccessKeys, { spec: { disabled: true } })).status).toBe(200);
    expect((await patch(ownedAccessKeys, { spec: { disabled: false } })).status).toBe(200);
  });

  it('is not prolonged', async () => {
    expect(await patch(directClusterEndpointTokens, { spec: { ttl: 9_000_001 } })).toMatchObject({
      status: 403,
      body: { reason: 'Forbidden' },
    });
  });

  it.each(credentialKinds)('is deleted, and its finalizers come off: $kind', async (resource) => {
    const object = stored(resource);
    const path = pathOf(resource, object.metadata.name);
    expect((await world.admin.send('DELETE', path)).status).toBe(200);
    // 404: an operator that an earlier file left here was faster.
    expect([200, 404]).toContain((await strip(world.admin, object)).status);
    expect((await world.admin.send('GET', path)).status).toBe(404);
    expect(resourceOf(object.kind)).toBe(resource);
  });
});

describe('a change of the site policy', async () => {
  const world = await admissionWorld();

  it('acts within moments, without a restart of anything', async () => {
    for (const maxKeyTTL of ['6000', '7000', '8000', '9000']) {
      expect(await setPolicy(world, { maxKeyTTL })).toBeLessThan(15_000);
    }
  });

  it.each([
    'validatingadmissionpolicybindings/latchkey-site-policy',
    'validatingadmissionpolicies/latchkey-site-policy',
  ])('still acts after %s was gone for a while', async (kind) => {
    const path = `/apis/admissionregistration.k8s.io/v1/${kind}`;
    const probe = { body: objectOf(ownedAccessKeys), query: { dryRun: 'All' } };
    const acts = async () => (await world.admin.send('POST', pathOf(ownedAccessKeys), probe)).status === 403;
    await setPolicy(world, { maxKeyTTL: '6000' });
    const { body } = await world.admin.send('GET', path);
    await world.admin.send('DELETE', path);
    await until('the policy is gone', async () => !(await acts()));
    const { uid: _uid, resourceVersion: _version, ...metadata } = body.metadata;
    await world.admin.send('POST', path.replace(/\/[^/]+$/, ''), { body: { ...body, metadata } });
    await until('the policy is back', acts);
    await setPolicy(world, { maxKeyTTL: '7000' });
    await dropPolicy(world);
    await setPolicy(world, { maxKeyTTL: '8000' });
  });

  it('is one from the shipped sample, too', async () => {
    const text = await readFile(path.join(configFolder, 'samples/site-policy/site-policy.yaml'), 'utf8');
    expect(await writePolicy(world, parse(text))).toMatchObject({ status: 200 });
  });

  it.each<[string, object, RegExp | string]>([
    ['a word for a number', policyOf({ maxTokenTTL: 'one day' }), secondsOf('maxTokenTTL')],
    ['a number with a unit', policyOf({ maxTokenTTL: '24h' }), secondsOf('maxTokenTTL')],
    ['nothing for a number', policyOf({ maxKeyTTL: '' }), secondsOf('maxKeyTTL')],
    ['a negative number', policyOf({ maxKeyTTL: '-1' }), secondsOf('maxKeyTTL')],
    ['0, which would lock everybody out', policyOf({ maxKeyTTL: '0' }), secondsOf('maxKeyTTL')],
    [
      'what is too little to work with',
      policyOf({ maxCertificateTTL: '599' }),
      secondsOf('maxCertificateTTL'),
    ],
    ['more than a hundred years', policyOf({ 'maxKeyTTL.User': '3153600001' }), secondsOf('maxKeyTTL.User')],
    ['more digits than a number has', policyOf({ maxKeyTTL: '9'.repeat(30) }), secondsOf('maxKeyTTL')],
    ['a number and a line feed', policyOf({ maxKeyTTL: '600\n' }), secondsOf('maxKeyTTL')],
    ['a text of nearly 1 MB', policyOf({ maxKeyTTL: '9'.repeat(1_000_000) }), secondsOf('maxKeyTTL')],
    ['an unknown entry', policyOf({ maxTokenTtl: '600' }), unknownOf('maxTokenTtl')],
    ['a limit for a type that is none', policyOf({ 'maxKeyTTL.user': '600' }), unknownOf('maxKeyTTL.user')],
    [
      'very many entries',
      policyOf(Object.fromEntries(many(5000))),
      /^data: holds more entries than there are; /,
    ],
    ['a yes', policyOf({ requireEnd: 'yes' }), 'data[requireEnd]: must be "true", "fixed" or "false"'],
    [
      'a list',
      policyOf({ requireScope: 'keys,tokens' }),
      'data[requireScope]: must be "others", "keys", "tokens", "all" or "none"',
    ],
    ['a capital', policyOf({ acceptPlainKey: 'False' }), 'data[acceptPlainKey]: must be "true" or "false"'],
    [
      'bytes',
      policyOf({}, { binaryData: { a: 'AAAA' } }),
      'binaryData: must be empty; the entries of the site policy stand in data',
    ],
  ])('is refused with %s, to every user', async (_, body, message) => {
    const answer = await writePolicy(world, body);
    const said = withoutNames(String(answer.body.message));
    expect({ status: answer.status, said }).toEqual({
      status: 403,
      said: typeof message === 'string' ? message : expect.stringMatching(message),
    });
  });

  it('is no matter for another ConfigMap', async () => {
    for (const [namespace, name] of [
      ['latchkey-system', 'site-policy-other'],
      ['default', 'latchkey-site-policy'],
    ] as const) {
      const body = { ...policyOf({ anything: 'goes' }), metadata: { name, namespace } };
      const options = { body, query: { dryRun: 'All' } };
      expect(
        (await world.admin.send('POST', `/api/v1/namespaces/${namespace}/configmaps`, options)).status,
      ).toBe(201);
    }
  });
});

function secondsOf(entry: string): string {
  return `data[${entry}]: must be whole seconds from 600 to 3153600000, in quotes; remove it for no maximum`;
}

function unknownOf(entry: string): string {
  return `data[${entry}]: unknown; there are maxKeyTTL, maxKeyTTL.<type>, maxTokenTTL, maxCertificateTTL, requireEnd, requireScope and acceptPlainKey`;
}

function many(count: number): [string, string][] {
  return Array.from({ length: count }, (_, index) => [`entry-${index}`, '']);
}

describe('a bad value that was stored before there was a check', async () => {
  const world = await admissionWorld();
  beforeAll(async () => await dropGuard(world));

  const keyOf = (spec: object): TestObject => objectOf(ownedAccessKeys, { user: 'alice', ...spec });
  const tokenOf = (spec: object): TestObject => objectOf(directClusterEndpointTokens, { ...spec });
  const send = async (body: TestObject): Promise<ApiAnswer> =>
    await world.admin.send('POST', pathOf(resourceOf(body.kind)), { body, query: { dryRun: 'All' } });
  const refusal = async (body: TestObject): Promise<string> => {
    const { status, body: answer } = await send(body);
    expect(status).toBe(403);
    return withoutNames(String(answer.message));
  };
  /** What still lets people work under the strictest values: a day, a scope, a hash. */
  const modest = [
    keyOf({ ttl: 86_400, scope: {}, key: `sha256:${'ab'.repeat(32)}` }),
    keyOf({ ttl: 86_400, scope: {} }),
    tokenOf({ scope: {} }),
    objectOf(virtualClusterInstanceKubeConfigs, {}),
  ];

  it.each<[string, Record<string, string>, TestObject, string]>([
    [
      'a maximum for keys',
      { maxKeyTTL: 'a year' },
      keyOf({ ttl: 86_401 }),
      `spec.ttl: must be set, and at most 86400 seconds, because maxKeyTTL ${config} cannot be read; correct it there`,
    ],
    [
      'a maximum of 1 MB',
      { maxKeyTTL: '9'.repeat(1_000_000) },
      keyOf({ ttl: 86_401 }),
      `spec.ttl: must be set, and at most 86400 seconds, because maxKeyTTL ${config} cannot be read; correct it there`,
    ],
    [
      'a maximum for a type',
      { 'maxKeyTTL.User': '0' },
      keyOf({ ttl: 86_401, type: 'User' }),
      `spec.ttl: must be set, and at most 86400 seconds, because maxKeyTTL.User ${config} cannot be read; correct it there`,
    ],
    [
      'a maximum for tokens',
      { maxTokenTTL: '-5' },
      tokenOf({ ttl: 86_401 }),
      `spec.ttl (86400 when absent): must be at most 86400 seconds, because maxTokenTTL ${config} cannot be read; correct it there`,
    ],
    [
      'a demand for an end',
      { requireEnd: 'yes' },
      keyOf({}),
      `spec.ttl: must be set, because requireEnd ${config} cannot be read; correct it there`,
    ],
    [
      'a demand for a fixed end',
      { requireEnd: '' },
      keyOf({ ttl: 60, ttlAfterLastActivity: true }),
      `spec.ttlAfterLastActivity: must not be true, because requireEnd ${config} cannot be read; correct it there`,
    ],
    [
      'a demand for a scope',
      { requireScope: 'yes' },
      tokenOf({}),
      `spec.scope: must be set, because requireScope ${config} cannot be read; correct it there`,
    ],
    [
      'a word about plain keys',
      { acceptPlainKey: 'no' },
      keyOf({ key: 'x'.repeat(40) }),
      `spec.key: must be sha256: and a hash, or be left out, because acceptPlainKey ${config} cannot be read; correct it there`,
    ],
    [
      'an unknown entry',
      { maxKeyTtl: '600' },
      keyOf({ ttl: 86_401 }),
      `spec.ttl: must be set, and at most 86400 seconds, the strictest value, because maxKeyTtl is unknown ${config}; remove or correct it there`,
    ],
    [
      'an unknown entry beside an end',
      { other: '' },
      keyOf({ ttl: 60, ttlAfterLastActivity: true }),
      `spec.ttlAfterLastActivity: must not be true, the strictest value, because other is unknown ${config}; remove or correct it there`,
    ],
    [
      'an unknown entry beside a scope',
      { other: '' },
      tokenOf({}),
      `spec.scope: must be set, the strictest value, because other is unknown ${config}; remove or correct it there`,
    ],
    [
      'an unknown entry beside a key',
      { other: '', requireScope: 'none', requireEnd: 'false', maxKeyTTL: '3153600000' },
      keyOf({ ttl: 60, key: 'x'.repeat(40) }),
      `spec.key: must be sha256: and a hash, or be left out, the strictest value, because other is unknown ${config}; remove or correct it there`,
    ],
    [
      'very many entries',
      Object.fromEntries(many(5000)),
      keyOf({ ttl: 86_401 }),
      `spec.ttl: must be set, and at most 86400 seconds, the strictest value, because one of so many entries is unknown ${config}; remove or correct it there`,
    ],
  ])(
    'counts as the strictest that lets people work, and the refusal names it: %s',
    async (_, data, object, message) => {
      expect((await writePolicy(world, policyOf(data))).status).toBe(200);
      await until('it acts', async () => (await refusal(object)) === message);
      for (const allowed of modest) {
        const { status, body } = await send(allowed);
        expect({ status, message: body.message }).toEqual({ status: 201, message: undefined });
      }
    },
  );

  it('does not touch entries that can be read', async () => {
    await writePolicy(world, policyOf({ maxKeyTTL: '3153600000', maxTokenTTL: 'x', requireEnd: 'false' }));
    await until('it acts', async () => (await send(tokenOf({ ttl: 86_401 }))).status === 403);
    expect((await send(keyOf({ ttl: 3_153_600_000 }))).status).toBe(201);
  });

  it('can be corrected, and loses its labels and finalizers, when the check is there', async () => {
    await writePolicy(world, policyOf({ maxKeyTTL: 'x' }));
    await admissionWorldAgain();
    const patch = async (body: object): Promise<number> =>
      (await world.admin.send('PATCH', policyPath, { body, contentType: contentTypes.mergePatch })).status;
    expect(await patch({ metadata: { labels: { a: 'b' } } })).toBe(200);
    expect(await patch({ data: { requireEnd: 'true' } })).toBe(403);
    expect(await patch({ data: { maxKeyTTL: '600' } })).toBe(200);
  });

  /** Puts the binding back. */
  async function admissionWorldAgain(): Promise<void> {
    const { exitCode, stderr } = await world.plane.kubectl([
      'apply',
      '-k',
      path.join(configFolder, 'admission'),
    ]);
    if (exitCode !== 0) throw new Error(stderr);
    const options = { body: policyOf({ nonsense: 'x' }), query: { dryRun: 'All' } };
    await until(
      'bad values are refused',
      async () => (await world.admin.send('PUT', policyPath, options)).status === 403,
    );
  }
});
