import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LatchkeyError } from '../../../src/errors.ts';
import type { Exchange } from '../../fakes/exchange.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { waitFor } from '../../fakes/wait-for.ts';
import { accessKey, connection, owner, PlayedTarget, showAs, TargetStage } from './target-stage.ts';

let clock: FakeClock;
let stage: TargetStage;
beforeEach(async () => {
  clock = new FakeClock();
  stage = await TargetStage.open(clock);
});
afterEach(async () => await stage.close());

const hour = 3_600_000;
const isToken = ({ path }: Exchange) => path.endsWith('/token');
const isReview = ({ path }: Exchange) => path.endsWith('/selfsubjectreviews');
const connect = () => stage.connector.connect(connection);

describe('connecting', () => {
  it('makes what is missing, asks for a token, proves it, and keeps it', async () => {
    expect(await connect()).toBeUndefined();
    const writes = stage.target.requests.filter((request) => !request.startsWith('GET'));
    expect(writes).toEqual([
      'PATCH latchkey-impersonator',
      'PATCH latchkey-impersonator',
      'PATCH latchkey-impersonator',
      'PATCH management.platform.sh%3Ausers',
      'POST token',
      'POST selfsubjectreviews',
    ]);
    const { url, authority } = stage.target.server;
    expect(stage.access).toEqual({
      server: `${url}/`,
      'ca.crt': authority.certificate,
      token: stage.target.tokens[0],
    });
  });

  const isPlatform = () => {
    const secret = stage.platform.storage('secrets').get(accessKey);
    return secret?.metadata.annotations?.['management.platform.sh/is-platform'];
  };

  it.each([
    ['another cluster', () => undefined, 'false'],
    ['the platform under another name', () => showAs(stage.target.server, 'platform'), 'true'],
    ['a cluster that does not show who it is', () => hide(403, 'Forbidden'), 'true'],
    ['a cluster without kube-system', () => hide(404, 'NotFound'), 'true'],
  ])('notes for the gateway whether it is the platform: %s', async (_, prepare, expected) => {
    prepare();
    expect(await connect()).toBeUndefined();
    expect(isPlatform()).toBe(expected);
  });

  it('notes it where the release before did not', async () => {
    await connect();
    const secret = stage.platform.storage('secrets').get(accessKey);
    const { 'management.platform.sh/is-platform': _, ...annotations } = secret?.metadata.annotations ?? {};
    stage.platform
      .storage('secrets')
      .put({ ...secret, metadata: { ...secret?.metadata, annotations } } as never);
    await connect();
    expect(isPlatform()).toBe('false');
  });

  const hide = (status: number, reason: string) =>
    stage.target.server.script((exchange) => {
      if (!exchange.path.endsWith('/namespaces/kube-system')) return false;
      exchange.refuse(status, reason);
      return true;
    });

  it('only looks when everything is right', async () => {
    await connect();
    const [inTarget, inPlatform] = [stage.target.requests.length, stage.platform.exchanges.length];
    expect(await connect()).toBeUndefined();
    expect(stage.target.requests.slice(inTarget).filter((request) => !request.startsWith('GET'))).toEqual([
      'POST selfsubjectreviews',
    ]);
    expect(stage.platform.exchanges.slice(inPlatform).every(({ method }) => method === 'GET')).toBe(true);
  });

  const verbs = () => {
    const [role] = stage.target.server.storage('clusterroles').list() as { rules?: { verbs: string[] }[] }[];
    return role?.rules?.flatMap((rule) => rule.verbs) ?? [];
  };

  it('takes the older verb from the account when the target is upgraded, and gives it back to an older one', async () => {
    const former = ['impersonate', 'impersonate'];
    for (const [minor, expected] of [
      ['35', former],
      ['36', expect.not.arrayContaining(['impersonate'])],
      ['35+', former],
    ] as const) {
      stage.target.minor = minor;
      expect(await connect()).toBeUndefined();
      expect(verbs()).toEqual(expected);
    }
  });

  it('gives no older verb to a target that refuses the newer ones', async () => {
    stage.target.server.script((exchange) => {
      if (exchange.method !== 'PATCH' || !exchange.path.includes('/clusterroles/')) return false;
      exchange.refuse(403, 'Forbidden');
      return true;
    });
    expect(await connect()).toMatchObject({ reason: 'TargetForbidden' });
    const sent = stage.target.server.exchanges.filter(({ method }) => method === 'PATCH');
    expect(sent.map(({ body }) => body).join()).not.toContain('"impersonate"');
    expect(stage.access).toBeUndefined();
  });

  it('takes nothing for a version but what is one', async () => {
    stage.target.minor = '36-canary';
    const problem = await connect();
    expect(problem).toMatchObject({ reason: 'TargetAnswer', message: expect.stringContaining('/version') });
    expect(JSON.stringify(problem)).not.toContain('canary');
    expect(stage.target.requests).toEqual(['GET version']);
  });

  it('binds no users in a cluster', async () => {
    const { clusterRole: _, ...rest } = connection;
    expect(await stage.connector.connect(rest)).toBeUndefined();
    expect(stage.target.requests.join()).not.toContain('users');
  });

  it.each([
    ['no token before half of the life is gone', 12 * hour - 1_000, 1],
    ['another token after half of the life', 12 * hour + 1_000, 2],
  ])('asks for %s', async (_what, laterMs, tokens) => {
    await connect();
    clock.advance(laterMs);
    await connect();
    expect(stage.target.tokens).toHaveLength(tokens);
  });

  it('goes by the real life of a token', async () => {
    stage.target.lifeMs = hour;
    await connect();
    clock.advance(hour / 2 + 1_000);
    await connect();
    expect(stage.target.tokens).toHaveLength(2);
  });

  it('does not believe in a longer life than it asked for', async () => {
    stage.target.lifeMs = 1_000 * 24 * hour;
    await connect();
    clock.advance(12 * hour + 1_000);
    await connect();
    expect(stage.target.tokens).toHaveLength(2);
  });

  it('replaces a token that the target has forgotten', async () => {
    await connect();
    stage.target.tokens[0] = 'forgotten';
    expect(await connect()).toBeUndefined();
    expect(stage.access?.token).toBe(stage.target.tokens[1]);
  });

  it('replaces a token when its account was missing, although the target still takes it', async () => {
    await connect();
    stage.target.server.storage('serviceaccounts').remove('kube-system/latchkey-impersonator');
    expect(await connect()).toBeUndefined();
    expect(stage.target.tokens).toHaveLength(2);
  });
});

describe('a kubeconfig that leads elsewhere', () => {
  it('never shows the token of the former target to the present one', async () => {
    await connect();
    const evil = await PlayedTarget.start(clock, 'evil');
    stage.useKubeConfig(evil.kubeConfig);

    expect(await connect()).toBeUndefined();

    expect([...evil.bearers]).toEqual(['Bearer admin-of-evil', `Bearer ${evil.tokens[0]}`]);
    expect(stage.access).toMatchObject({ server: `${evil.server.url}/`, token: evil.tokens[0] });
    await evil.server.stop();
  });

  it('is followed when it changes in the middle of a check', async () => {
    const next = await PlayedTarget.start(clock, 'b');
    stage.target.server.once(
      () => true,
      (exchange) => {
        stage.useKubeConfig(next.kubeConfig);
        const { uid } = owner;
        void stage.clients.open({ uid, secret: connection.kubeConfig }).then(() => exchange.reset());
      },
    );
    expect(await connect()).toBeUndefined();
    expect(stage.access?.server).toBe(`${next.server.url}/`);
    await next.server.stop();
  });
});

describe('a target that means harm', () => {
  const canary = 'canary-from-the-target';
  it.each([
    ['no status', {}],
    ['a status that is none', { status: canary }],
    ['no token', { status: { expirationTimestamp: '2030-01-01T00:00:00Z' } }],
    ['a number for a token', { status: { token: 7, expirationTimestamp: '2030-01-01T00:00:00Z' } }],
    [
      'a token that ends a header',
      { status: { token: 'a\r\nX: y', expirationTimestamp: '2030-01-01T00:00:00Z' } },
    ],
    [
      'an endless token',
      { status: { token: 'a'.repeat(9_000), expirationTimestamp: '2030-01-01T00:00:00Z' } },
    ],
    ['no end', { status: { token: canary } }],
    ['an end that is none', { status: { token: canary, expirationTimestamp: canary } }],
    ['an end that has passed', { status: { token: canary, expirationTimestamp: '2020-01-01T00:00:00Z' } }],
    ['a list', []],
    ['no JSON', canary],
  ])('that answers a request for a token with %s is refused', async (_what, answer) => {
    stage.target.server.once(isToken, (exchange) => exchange.answer(201, answer));
    const problem = await connect();
    expect(problem?.reason).toBe('TargetAnswer');
    expect(JSON.stringify(problem)).not.toContain(canary);
    expect(stage.access).toBeUndefined();
  });

  it.each([
    ['for somebody else', { status: { userInfo: { username: 'system:admin' } } }],
    ['for no one', { status: {} }],
    ['for a list', { status: { userInfo: { username: ['x'] } } }],
  ])('that takes its own token %s is refused', async (_user, answer) => {
    stage.target.server.once(isReview, (exchange) => exchange.answer(201, { metadata: {}, ...answer }));
    expect(await connect()).toMatchObject({ reason: 'TargetAnswer' });
    expect(stage.access).toBeUndefined();
  });

  it.each([
    ['an object of any shape', 200, { metadata: { labels: [canary], uid: 7 }, rules: canary, subjects: 5 }],
    ['a redirect', 302, {}],
    ['a refusal with words of its own', 403, { kind: 'Status', message: canary, reason: canary }],
    ['an error', 500, { kind: 'Status', message: canary }],
    ['that the object is of another kind', 422, { kind: 'Status', message: canary, reason: 'Invalid' }],
    ['that the object is gone, in words of its own', 404, canary],
  ])('that answers every request with %s is refused, in our words', async (_what, status, body) => {
    stage.target.server.answerAll(status, body, { location: 'https://127.0.0.1:1/' });
    const problem = await connect();
    expect(problem?.reason).toMatch(/^Target/);
    expect(JSON.stringify(problem)).not.toContain(canary);
    expect(stage.access).toBeUndefined();
  });

  it('that never answers keeps no worker for more than 15 s', async () => {
    stage.target.server.script(() => true);
    const connecting = connect();
    await waitFor('a request', () => stage.target.requests.length === 1);
    clock.advance(15_000);
    expect(await connecting).toMatchObject({ reason: 'TargetUnreachable' });
  });

  it('that answers slowly again and again is given up after 15 s', async () => {
    stage.target.server.script(() => {
      clock.advance(4_000);
      return undefined;
    });
    expect(await connect()).toMatchObject({ reason: 'TargetUnreachable' });
    expect(stage.target.requests.length).toBeLessThan(6);
  });
});

describe('what is not the fault of the target', () => {
  it('is not blamed on it: a Secret that cannot be read', async () => {
    stage.platform.refuseAll(403, 'Forbidden');
    await expect(connect()).rejects.toMatchObject({ status: 403 });
  });

  it('is not blamed on it: a lease that is lost', async () => {
    stage.guard = () => {
      throw new LatchkeyError('ERR_LEADERSHIP_LOST', { action: 'a write' });
    };
    await expect(connect()).rejects.toMatchObject({ code: 'ERR_LEADERSHIP_LOST' });
    expect(stage.target.requests.every((request) => request.startsWith('GET'))).toBe(true);
  });

  it('is said of the Secret: that policies refuse it', async () => {
    stage.platform.once(
      ({ method }) => method === 'POST',
      (exchange) => exchange.refuse(403, 'Forbidden'),
    );
    expect(await connect()).toMatchObject({ reason: 'SecretFailed' });
  });

  it('is said of the Secret: that its namespace is missing', async () => {
    stage.platform.once(
      ({ method }) => method === 'POST',
      (exchange) => exchange.refuse(404, 'NotFound'),
    );
    const message = 'The namespace latchkey-targets does not exist: apply config/default of this release.';
    expect(await connect()).toEqual({ reason: 'SecretFailed', message });
  });

  it('is said of the Secret: that it is of another maker, whose target is left alone', async () => {
    const [namespace, name] = accessKey.split('/') as [string, string];
    const unlabelled = { type: 'Opaque', metadata: { namespace, name }, data: { token: 'eA==' } };
    const { metadata } = stage.platform.storage('secrets').put(unlabelled);
    expect(await connect()).toMatchObject({ reason: 'SecretConflict' });
    expect(stage.target.requests).toEqual([]);
    await stage.connector.disconnect(connection);
    expect(stage.platform.storage('secrets').get(accessKey)?.metadata).toEqual(metadata);
  });
});

describe('disconnecting', () => {
  const left = () =>
    ['clusterrolebindings', 'clusterroles', 'serviceaccounts'].flatMap((plural) =>
      stage.target.server
        .storage(plural)
        .list()
        .map(({ metadata }) => `${plural} ${metadata.name}`),
    );

  it('takes away what was made, rights first, and the access', async () => {
    await connect();
    expect(await stage.connector.disconnect(connection)).toBe('clean');
    expect(left()).toEqual([]);
    expect(stage.secret).toBeUndefined();
    expect(stage.target.requests.filter((request) => request.startsWith('DELETE'))[0]).toContain('users');
    expect(await stage.connector.disconnect(connection)).toBe('clean');
  });

  it('leaves what is labelled for another one', async () => {
    await connect();
    const other = { ...connection, owner: { ...owner, uid: 'u2' } };
    expect(await stage.connector.disconnect(other)).toBe('clean');
    expect(left()).toHaveLength(4);
    expect(stage.access).toBeDefined();
  });

  it('deletes the access although the target cannot be reached', async () => {
    await connect();
    await stage.target.server.stop();
    expect(await stage.connector.disconnect(connection)).toBe('failed');
    expect(stage.secret).toBeUndefined();
  });

  it('deletes the access although there is no kubeconfig any more', async () => {
    await connect();
    stage.useKubeConfig(undefined);
    expect(await stage.connector.disconnect(connection)).toBe('gone');
    expect(stage.secret).toBeUndefined();
    expect(left()).toHaveLength(4);
  });
});
