import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import {
  type CredentialObject,
  confirmed,
  credentialObject,
  liveRecord,
} from '../../../../test/builders/credential-object.ts';
import {
  type Behaviour,
  type GatewayStage,
  gatewayStage,
  verdictFor,
} from '../../../../test/builders/gateway-stage.ts';
import { waitFor } from '../../../../test/fakes/wait-for.ts';
import { type Clock, systemClock } from '../../../kube/clock.ts';
import type { KubeObject } from '../../../kube/object.ts';
import type { InformerSource } from '../../../platform/informers.ts';
import type { CredentialRecords } from '../../index/credential-records.ts';
import { HeldBytes } from '../shared/held-bytes.ts';
import type { MadeObject } from '../shared/removals.ts';

const bearer = 'a-key-that-alice-chose-herself';
const kind = 'DirectClusterEndpointToken';
const plural = 'directclusterendpointtokens';
const running: GatewayStage[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((stage) => stage.close()));
});

const made = credentialObject({ kind, name: 'ci' });
/** The same some time later: the operator has issued it. */
const issued = (status: object = { token: 'the-token-of-alice' }, metadata: object = {}): CredentialObject =>
  confirmed(
    credentialObject({
      ...{ kind, name: 'ci', status: { ...status } },
      metadata: { resourceVersion: '8', ...metadata },
    }),
  );

const answer = (status: number, body: object): string => {
  const text = JSON.stringify(body);
  return `HTTP/1.1 ${status} X\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
};

function requestFor(asked: string, body: object = {}): string {
  const text = JSON.stringify(body);
  return [
    `POST /kubernetes/management/apis/management.platform.sh/v1/${asked} HTTP/1.1`,
    ...['Host: a', 'Connection: close', `Authorization: Bearer ${bearer}`],
    ...['Content-Type: application/json', `Content-Length: ${text.length}`, '', text],
  ].join('\r\n');
}

/** Turns what the watch brings into records of the index, as in a running gateway. */
function watchOf(records: CredentialRecords): (object: object) => void {
  const sources = new Map<string, InformerSource<never>>();
  records.addTo({ add: (name, source) => void sources.set(name, source as never) });
  return (object) => {
    const { store, toRecord } = sources.get(plural) as InformerSource<never>;
    store.upsert(toRecord(object as KubeObject) as never);
  };
}

interface Post {
  readonly read?: object;
  readonly held?: HeldBytes;
  readonly plural?: string;
  readonly body?: object;
  /** Of the object that the API server has made. */
  readonly marks?: object;
}

/** A POST whose object the API server has made and whose answer waits for the operator. */
async function post({ read = issued(), held = roomy(), plural: asked = plural, body, marks }: Post = {}) {
  const waiting = Promise.withResolvers<void>();
  const clock: Clock = {
    ...systemClock,
    setTimer: (callback, ms) => {
      if (ms === 10_000) waiting.resolve();
      return systemClock.setTimer(callback, ms);
    },
  };
  const object = { ...made, metadata: { ...made.metadata, labels: marks } };
  const server: Behaviour = (socket, text) =>
    void socket.write(text.startsWith('POST') ? answer(201, object) : answer(200, read));
  const removed: MadeObject[] = [];
  const over = Promise.withResolvers<void>();
  const removals = {
    begin: () => over.resolve,
    remove: async (one: MadeObject) => void removed.push(one),
    removeWhenItComes: async () => undefined,
  };
  const stage = await gatewayStage(server, { services: { clock, held, removals } });
  running.push(stage);
  stage.know(bearer, { ...verdictFor(), record: liveRecord({ name: 'self' }) });
  const client = connect(stage.port, '127.0.0.1', () => client.write(requestFor(asked, body)));
  const answered = textOf(client);
  await waiting.promise;
  const reads = () => stage.seen.filter((text) => text.startsWith('GET')).length;
  /** The client leaves; resolves when the gateway has done all that it does about that. */
  const leave = async () => {
    client.destroy();
    await over.promise;
    return removed;
  };
  return { answered, watch: watchOf(stage.records), reads, removed, seen: () => stage.seen, leave };
}

const roomy = () => new HeldBytes({ ofCredential: 2 ** 20, ofUser: 2 ** 20, ofAll: 2 ** 20 });

async function textOf(client: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  client.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(client, 'close');
  return Buffer.concat(chunks).toString('utf8');
}

describe('a new credential', () => {
  it('is shown as the watch brought it, and not read', async () => {
    const { answered, watch, reads } = await post({ read: issued({ token: 'read' }) });
    watch(made);
    watch(issued());
    const text = await answered;
    expect(text).toMatch(/^HTTP\/1\.1 201 [\s\S]*"token":"the-token-of-alice"/);
    expect(text).not.toContain('does not work yet');
    expect(reads()).toBe(0);
  });

  const refused = (reason: string, types: readonly [type: string, status: string][], labels = {}) => ({
    ...made,
    metadata: { ...made.metadata, resourceVersion: '8', labels },
    status: {
      conditions: types.map(([type, status]) => ({
        ...{ type, status, reason, message: 'The operator says why.' },
        ...{ lastTransitionTime: '2026-11-21T10:00:00Z', observedGeneration: 1 },
      })),
    },
  });
  const final = [
    ['Ready', 'False'],
    ['Stalled', 'True'],
  ] as const satisfies readonly [string, string][];

  it('that someone applied is shown with what the operator says in place of it', async () => {
    const { answered, watch, reads } = await post();
    watch(refused('TokenTooLarge', [...final]));
    expect(await answered).toMatch(/^HTTP\/1\.1 201 [\s\S]*TokenTooLarge: The operator says why/);
    expect(reads()).toBe(0);
  });

  it.each<[string, readonly [string, string][]]>([
    ['TokenTooLarge', final],
    ['DuplicateKey', final],
    // The operator asks again, and will hardly hear anything else soon.
    ['AccessKeyNotLive', [['Ready', 'False']]],
    ['RequesterNotPermitted', [['Ready', 'False']]],
  ])(
    'that the operator refuses for %s is taken away again, and the answer says why',
    async (reason, types) => {
      const { answered, watch, removed } = await post();
      watch(refused(reason, types, { 'management.platform.sh/ephemeral': 'true' }));
      const text = await answered;
      expect(text).toMatch(/^HTTP\/1\.1 422 /);
      expect(text).toContain(`the operator refuses the ${kind} (${reason}): The operator says why`);
      expect(removed.map(({ key, uid }) => [key.name, uid])).toEqual([['ci', made.metadata['uid']]]);
    },
  );

  it('is waited for while changes say nothing of it, none of which is read', async () => {
    const { answered, watch, reads } = await post();
    watch({ ...made, metadata: { ...made.metadata, resourceVersion: '8' } });
    watch(issued(undefined, { resourceVersion: '9' }));
    expect(await answered).toContain('"token":"the-token-of-alice"');
    expect(reads()).toBe(0);
  });

  it('is not what somebody else makes under its name', async () => {
    const { answered, watch } = await post();
    watch(issued({ token: 'the-token-of-bob' }, { uid: 'of-bob' }));
    watch(issued(undefined, { resourceVersion: '9' }));
    const text = await answered;
    expect(text).toContain('"token":"the-token-of-alice"');
    expect(text).not.toContain('bob');
  });

  it('counts as what the request keeps in memory, and is read once there is room', async () => {
    const held = new HeldBytes({ ofCredential: 40_000, ofUser: 40_000, ofAll: 40_000 });
    const large = issued(undefined, { labels: { note: 'x'.repeat(5_000) } });
    const other = held.hold({ user: 'alice', credential: 'other' });
    const { answered, watch, reads } = await post({ read: large, held });
    other.takeOrThrow(5_000);
    watch(large);
    await waitFor('it is read', () => reads() > 0);
    other.release();
    expect(await answered).toContain('"token":"the-token-of-alice"');
  });
});

describe('a new credential whose client has left before the answer', () => {
  const marks = { 'management.platform.sh/ephemeral': 'true' };
  const keys = 'ownedaccesskeys';

  it.each<[what: string, sent: Post]>([
    ['a token', { marks }],
    ['a key that the gateway made', { marks, plural: keys }],
  ])('is taken away, for no one can get it: %s', async (_, sent) => {
    const { leave, seen } = await post(sent);
    const removed = await leave();
    expect(
      removed.map(({ key, uid, identity, resource }) => [key.name, uid, identity.user, resource?.plural]),
    ).toEqual([['ci', made.metadata['uid'], 'alice', sent.plural ?? plural]]);
    expect(seen().filter((text) => text.startsWith('DELETE'))).toEqual([]);
  });

  it.each<[what: string, sent: Post]>([
    ['one that is declared', {}],
    ['one with a name of its own', { marks, body: { metadata: { name: 'ci' } } }],
    ['one that goes to a Secret', { marks, body: { spec: { secretRef: { name: 'a', namespace: 'b' } } } }],
    [
      'a key that the client knows',
      { marks, plural: keys, body: { spec: { key: `sha256:${'0'.repeat(64)}` } } },
    ],
    ['a key that takes tokens', { marks, plural: keys, body: { spec: { exchange: { tokens: [] } } } }],
  ])('stays where someone can: %s', async (_, sent) => {
    const { leave } = await post(sent);
    expect(await leave()).toEqual([]);
  });
});
