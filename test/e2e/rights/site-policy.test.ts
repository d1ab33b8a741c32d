import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { conditionOf } from '../../../lab/operator/api.ts';
import { applyKustomization } from '../../../lab/operator/kustomization.ts';
import { metricOf } from '../../../lab/operator/telemetry.ts';
import { until } from '../../../lab/operator/until.ts';
import { systemNamespace, systemObjects } from '../../../src/api/names.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { configMaps, directClusterEndpointTokens } from '../../../src/api/resources.ts';
import { isNotFound } from '../../../src/kube/kube-error.ts';
import { gatewayWorld } from '../gateway/gateway-world.ts';
import { OwnClient, ownClient, ownKeys, ownTokens } from '../gateway/own-client.ts';

const world = await gatewayWorld();
const { admin, name, operator } = world;
const alice = name('alice');
const holder = await ownClient(world, { user: alice });
const place = { namespace: systemNamespace, name: systemObjects.sitePolicy };
const apply = 'application/apply-patch+yaml';
const config = 'in the ConfigMap latchkey-system/latchkey-site-policy';
const manifest = (spec: object) => ({
  apiVersion: 'management.platform.sh/v1',
  kind: 'OwnedAccessKey',
  spec,
});

/** Absent: the site asks for nothing. */
async function setPolicy(data?: Readonly<Record<string, string>>): Promise<void> {
  await admin.client.delete(configMaps, place).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: place, data };
  if (data !== undefined) await admin.client.create(configMaps, object, { namespace: systemNamespace });
}

const tried = async (spec: object) => await holder.send('POST', `${ownKeys}?dryRun=All`, { body: { spec } });
const gatewayRefuses = async (spec: object, text: string): Promise<void> => {
  await until('the gateway acts', async () => (await tried(spec)).text.includes(text));
};
const gatewayAllows = async (spec: object): Promise<void> => {
  await until('the gateway allows it', async () => (await tried(spec)).status === 201);
};

const unwanted = { status: 'False', reason: reasons.sitePolicy } as const;
const messageOf = (object: { status?: unknown }): string | undefined =>
  conditionOf(object as never, 'Ready')?.message;

afterAll(async () => await setPolicy());

describe('a site that asks for more', async () => {
  const before = await world.holder({ user: alice, ttl: 7200 });
  const old = new OwnClient(world, before.key);
  const works = async () => (await old.send('GET', ownKeys)).status === 200;
  const rules = {
    maxKeyTTL: '3600',
    maxTokenTTL: '7200',
    requireEnd: 'true',
    requireScope: 'others',
    acceptPlainKey: 'false',
  };
  const tooLong = `spec.ttl: must be set, and at most 3600 seconds, by maxKeyTTL ${config}`;

  beforeAll(async () => {
    await setPolicy(rules);
    await gatewayRefuses({ ttl: 3601 }, tooLong);
    const probe = await admin.createKey({ user: alice, ttl: 3601 });
    await admin.untilCondition(probe, unwanted);
  });

  it('is obeyed at the gateway, before there is an object', async () => {
    const refused = { status: 403, body: { message: expect.stringContaining(tooLong) } };
    const code = { details: { causes: [expect.objectContaining({ reason: 'ERR_POLICY_LIFE' })] } };
    for (const spec of [{}, { ttl: 3601 }, { ttl: 3601, ttlAfterLastActivity: true }]) {
      const answer = await holder.send('POST', ownKeys, { body: { spec } });
      expect(answer).toMatchObject(refused);
      expect(answer.body).toMatchObject(code);
      const path = `${ownKeys}/${name('applied')}?fieldManager=me`;
      expect(await holder.send('PATCH', path, { type: apply, body: manifest(spec) })).toMatchObject(refused);
    }
    expect((await holder.send('POST', ownTokens, { body: { spec: { ttl: 7201 } } })).text).toContain(
      'spec.ttl (86400 when absent): must be at most 7200 seconds, by maxTokenTTL',
    );
    expect((await holder.send('POST', ownKeys, { body: { spec: { ttl: 3600 } } })).status).toBe(201);
  });

  it.each(['PUT', 'merge patch', 'JSON patch', 'apply'])('is obeyed at the gateway by %s', async (way) => {
    const made = await holder.send('POST', ownKeys, { body: { spec: { ttl: 600 } } });
    const path = `${ownKeys}/${made.body.metadata.name}`;
    const read = (await holder.send('GET', path)).body;
    const spec = (ttl: number) => ({ ttl });
    const send: Readonly<Record<string, (ttl: number) => Promise<unknown>>> = {
      PUT: (ttl) => holder.send('PUT', path, { body: { ...read, spec: { ...read.spec, ttl } } }),
      'merge patch': (ttl) =>
        holder.send('PATCH', path, { type: 'application/merge-patch+json', body: { spec: spec(ttl) } }),
      'JSON patch': (ttl) =>
        holder.send('PATCH', path, {
          type: 'application/json-patch+json',
          body: [{ op: 'replace', path: '/spec/ttl', value: ttl }],
        }),
      apply: (ttl) =>
        holder.send('PATCH', `${path}?fieldManager=me&force=true`, {
          type: apply,
          body: manifest(spec(ttl)),
        }),
    };
    const change = async (ttl: number) => await send[way]?.(ttl);
    expect(await change(3601)).toMatchObject({
      status: 403,
      body: { message: expect.stringContaining(tooLong) },
    });
    expect(await change(3600)).toMatchObject({ status: 200 });
  });

  it('has the operator confirm nothing else, and say what to do', async () => {
    const own = { user: alice, ttl: 600 };
    const cases: readonly (readonly [Promise<Parameters<typeof admin.untilReady>[0]>, string, object])[] = [
      [admin.createKey({ ...own, ttl: 3601, scope: {} }), `${tooLong}.`, { ttl: 3600 }],
      [
        admin.createKey(own),
        `spec.scope: must be set on a key for another user, by requireScope ${config}; who makes one also needs the verb impersonate on that user.`,
        { scope: {} },
      ],
      [
        admin.createKey({ ...own, scope: {}, key: `a-plain-key-${name('x')}` }),
        `spec.key: must be sha256: and a hash, or be left out, by acceptPlainKey ${config}.`,
        { key: `sha256:${'5'.repeat(64)}` },
      ],
      [
        admin.create(directClusterEndpointTokens, { ttl: 7201 }, { name: name('token') }),
        `spec.ttl (86400 when absent): must be at most 7200 seconds, by maxTokenTTL ${config}.`,
        { ttl: 7200 },
      ],
    ];
    for (const [making, message, correction] of cases) {
      const object = await making;
      const refused = await admin.untilCondition(object, unwanted);
      expect(messageOf(refused)).toBe(message);
      expect(refused.status).not.toHaveProperty('credentialHash');
      expect(refused.status).not.toHaveProperty('token');
      await admin.patch(object, { spec: correction });
      await admin.untilReady(object);
    }
  });

  it('leaves what was confirmed before', async () => {
    expect(await works()).toBe(true);
    await admin.patch(before.object, { spec: { description: 'old' }, metadata: { labels: { a: 'b' } } });
    await admin.untilReady(before.object);
    expect(await works()).toBe(true);
    await admin.patch(before.object, { spec: { disabled: true } });
    // Heard of late, the stop would cut a request of the next test.
    await until('the gateway refuses it', async () => !(await works()));
    await admin.untilCondition(before.object, { status: 'False', reason: reasons.disabled });
    await admin.patch(before.object, { spec: { disabled: false } });
    await admin.untilReady(before.object);
    await until('the gateway takes it again', works);
  });

  it('does not prolong what was confirmed before, which works on with the life that it has', async () => {
    const { notAfter, confirmedTTL } = (await admin.get(before.object)).status;
    await admin.patch(before.object, { spec: { ttl: 9000 } });
    const stalled = { type: 'Stalled', status: 'True', reason: reasons.sitePolicy } as const;
    const kept = await admin.untilCondition(before.object, stalled);
    expect(kept.status).toMatchObject({ notAfter, confirmedTTL });
    expect(conditionOf(kept, 'Ready')).toMatchObject({ status: 'True' });
    expect(await works()).toBe(true);
    await admin.patch(before.object, { spec: { ttl: 3600 } });
    const shorter = await admin.until(before.object, 'the shorter life', ({ status }) => {
      return status.confirmedTTL === 3600;
    });
    expect(conditionOf(shorter, 'Stalled')?.status ?? 'False').toBe('False');
    expect(await works()).toBe(true);
  });
});

describe('a site policy', () => {
  const unreadable = async () => await metricOf(operator, 'latchkey_site_policy_unreadable');

  it('with mistakes counts as strict, says so, and stops no one who keeps to a day and a scope', async () => {
    await setPolicy({ maxKeyTTL: 'a year', maxKeyTtl: '600' });
    const cannotBeRead = `because maxKeyTTL ${config} cannot be read; correct it there`;
    await gatewayRefuses({ ttl: 86_401, scope: {} }, cannotBeRead);
    await until('the operator reports it', async () => (await unreadable()) === 2);
    const refused = await admin.createKey({ user: alice, ttl: 86_401, scope: {} });
    expect(messageOf(await admin.untilCondition(refused, unwanted))).toContain(cannotBeRead);
    const unknown = await admin.createKey({ user: alice, ttl: 600 });
    expect(messageOf(await admin.untilCondition(unknown, unwanted))).toContain(
      `spec.scope: must be set, the strictest value, because maxKeyTtl is unknown ${config}`,
    );
    await admin.untilReady(await admin.createKey({ user: alice, ttl: 86_400, scope: {} }));
    await gatewayAllows({ ttl: 86_400, scope: {} });

    // Credentials that the policy kept away come by themselves once it is corrected, here by being gone.
    await setPolicy();
    await admin.untilReady(refused);
    await admin.untilReady(unknown);
    await gatewayAllows({ ttl: 86_401 });
    await until('the operator reports nothing', async () => (await unreadable()) === 0);
  });

  it('that is recommended asks for an end, and for the scope of a key for another user', async () => {
    await applyKustomization(world.plane, 'site-policy');
    const year = 31_536_000;
    await gatewayRefuses({ ttl: year + 1 }, `at most ${year} seconds, by maxKeyTTL ${config}`);
    for (const spec of [{}, { ttl: 0 }, { accessKey: 'parent' }])
      expect((await tried(spec)).status).not.toBe(201);
    await gatewayAllows({ ttl: year });
    await gatewayAllows({ ttl: 600, ttlAfterLastActivity: true });
    const [open, scoped] = await Promise.all([
      admin.createKey({ user: alice, ttl: year }),
      admin.createKey({ user: alice, ttl: year, scope: {} }),
    ]);
    expect(messageOf(await admin.untilCondition(open, unwanted))).toContain('on a key for another user');
    await admin.untilReady(scoped);
  });
});
