import { inspect } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/kube/clock.ts';
import { CertificateRevoker } from '../../../src/operator/certificates/certificate-revoker.ts';
import { adminDocument } from '../../builders/admin-kube-config.ts';
import type { Exchange } from '../../fakes/exchange.ts';
import { FakeApiServer } from '../../fakes/fake-api-server.ts';
import { four, TargetWorld } from '../targets/target-world.ts';
import { HastyClock } from './kubeconfig-simulation.ts';

const canary = 'CANARY7f3a';
const uid = 'aaaa-1';
const subjects = [{ kind: 'User', name: `management.platform.sh:kubeconfig:${uid}:1` }];
const unprintable = { toString: 1, valueOf: 1 };

let server: FakeApiServer;
let world: TargetWorld;

beforeEach(async () => {
  server = await FakeApiServer.start();
  world = new TargetWorld({ resolve: async () => [four('127.0.0.1')] });
  world.put(adminDocument({ server: server.url, authority: server.authority, user: { token: 'admin' } }));
});

afterEach(async () => {
  await world.clients.close();
  await server.stop();
});

/** Returns the outcome of a clean-up in this target. A rejection would be tried again for ever, and nothing be let go. */
async function revoked(): Promise<string> {
  const revoker = new CertificateRevoker(world.clients, systemClock);
  const request = { uid, serials: [1], live: [] };
  const outcome = await revoker.tryRevoke(world.source, request).then(
    (attempt) => ('problem' in attempt ? attempt.problem.reason : 'done'),
    (error: unknown) => `rejected: ${inspect(error)}`,
  );
  expect(outcome).not.toContain(canary);
  return outcome;
}

const answerTo = (isMeant: (exchange: Exchange) => boolean, answer: (exchange: Exchange) => void) =>
  server.script((exchange) => {
    if (!isMeant(exchange)) return false;
    answer(exchange);
    return true;
  });

const isDelete = ({ method }: Exchange) => method === 'DELETE';
const isListOf =
  (plural: string) =>
  ({ method, path }: Exchange) =>
    method === 'GET' && path.endsWith(`/${plural}`);
const list = (items: unknown, metadata: object = {}) => ({ kind: 'List', metadata, items });

describe('a virtual cluster that answers a clean-up with', () => {
  it.each<[string, unknown]>([
    ['a name that is a path', [{ metadata: { name: `../${canary} wants you to read this` }, subjects }]],
    ['no name', [{ metadata: {}, subjects }]],
    ['an empty name', [{ metadata: { name: '' }, subjects }]],
    ['an empty subject', [{ metadata: { name: 'a' }, subjects: [null] }]],
    ['finalizers that are none', [{ metadata: { name: 'a', finalizers: null }, subjects }]],
    ['half a surrogate pair in a name', [{ metadata: { name: 'a\ud800' }, subjects }]],
  ])('bindings with %s is its own problem', async (_, items) => {
    answerTo(isDelete, (exchange) => exchange.refuse(404, 'NotFound'));
    answerTo(isListOf('clusterrolebindings'), (exchange) => exchange.answer(200, list(items)));
    expect(await revoked()).not.toContain('rejected');
  });

  it('role bindings without a namespace is its own problem', async () => {
    answerTo(isDelete, (exchange) => exchange.refuse(404, 'NotFound'));
    answerTo(isListOf('rolebindings'), (exchange) =>
      exchange.answer(200, list([{ metadata: { name: 'a' }, subjects }])),
    );
    expect(await revoked()).not.toContain('rejected');
  });

  it.each<[string, unknown]>([['no name', [{ metadata: {} }]]])(
    'requests with %s is its own problem',
    async (_, items) => {
      answerTo(isDelete, (exchange) => exchange.refuse(404, 'NotFound'));
      answerTo(isListOf('certificatesigningrequests'), (exchange) => exchange.answer(200, list(items)));
      expect(await revoked()).not.toContain('rejected');
    },
  );

  it('pages without end is not read for long', async () => {
    const item = { metadata: { name: 'a' } };
    const page = JSON.stringify(list(Array(20_000).fill(item), { continue: 'next' }));
    answerTo(isDelete, (exchange) => exchange.refuse(404, 'NotFound'));
    answerTo(isListOf('clusterrolebindings'), (exchange) => exchange.answer(200, page));
    expect(await revoked()).toBe('TargetAnswer');
    expect(server.exchanges.length * page.length).toBeLessThan(64 * 2 ** 20);
  }, 60_000);

  it('more bindings than were asked for is its own problem', async () => {
    answerTo(isDelete, (exchange) => exchange.refuse(404, 'NotFound'));
    const limits = new Set<string | null>();
    answerTo(isListOf('clusterrolebindings'), (exchange) => {
      const limit = exchange.query.get('limit');
      limits.add(limit);
      const name = limit === null ? 'a'.repeat(10_000) : 'a';
      exchange.answer(200, list(Array(501).fill({ metadata: { name } })));
    });
    expect(await revoked()).toBe('TargetAnswer');
    expect([...limits]).toEqual([null, '500', '50', '4', '1']);
  });

  it('a page marker that is no text is its own problem', async () => {
    answerTo(isDelete, (exchange) => exchange.refuse(404, 'NotFound'));
    answerTo(isListOf('clusterrolebindings'), (exchange) =>
      exchange.answer(200, list([], { continue: unprintable })),
    );
    expect(await revoked()).not.toContain('rejected');
  });

  it.each<[string, object]>([
    ['details that are null', { details: null }],
    ['causes that are no list', { details: { causes: 5 } }],
    ['a cause that is null', { details: { causes: [null] } }],
    ['a reason that cannot be printed', { reason: unprintable }],
    ['a message that cannot be printed', { message: unprintable }],
    ['a message that is a list', { message: [canary] }],
    ['a time to come again that cannot be printed', { details: { retryAfterSeconds: unprintable } }],
    ['a time to come again that is text', { details: { retryAfterSeconds: canary } }],
  ])('refusals with %s is its own problem', async (_, parts) => {
    for (const code of [403, 404, 409, 422, 429, 500]) {
      answerTo(isDelete, (exchange) => exchange.answer(code, { kind: 'Status', code, ...parts }));
      expect(await revoked()).not.toContain('rejected');
    }
  });
});

describe('a virtual cluster that lists without end what it says we made fills no memory', () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage: () => void = runInNewContext('gc');
  const heapBytes = () => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const [firstMeasured, lastMeasured] = [20, 220];

  /** Pages of other names each, small enough to be read without asking for bytes. */
  function answerWithoutEnd(plural: string, clock: HastyClock): number[] {
    const heaps: number[] = [];
    let pages = 0;
    answerTo(isListOf(plural), (exchange) => {
      server.exchanges.length = 0;
      pages++;
      if (pages === firstMeasured || pages === lastMeasured) heaps.push(heapBytes());
      if (pages === lastMeasured) clock.advance(60_000);
      const items = Array.from({ length: 500 }, (_, index) => ({
        metadata: { name: `${pages}-${index}`.padEnd(100, 'x') },
      }));
      exchange.answer(200, list(items, { continue: 'next' }));
    });
    return heaps;
  }

  it.each(
    [
      'certificatesigningrequests',
      'validatingadmissionpolicybindings',
      'validatingadmissionpolicies',
    ].flatMap((plural) => [1, 2].map((count) => [plural, count] as const)),
  )('%s, asked about for %i', async (plural, count) => {
    const clock = new HastyClock(0);
    const heaps = answerWithoutEnd(plural, clock);
    const request = { uid, serials: [1], live: [] };
    const revoker = new CertificateRevoker(world.clients, clock);
    const outcome =
      count === 1
        ? await revoker.tryRevoke(world.source, request)
        : await revoker.tryRevokeTogether(world.source, [request, { ...request, uid: 'bbbb-2' }], {
            onAnswer: () => undefined,
          });
    expect(outcome).toMatchObject({ problem: { reason: 'TargetAnswer' } });
    const [before = 0, after = 0] = heaps;
    expect(heaps).toHaveLength(2);
    expect(after - before).toBeLessThan(5 * 2 ** 20);
  });
});
