import type { Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { credentialObject, liveRecord } from '../../test/builders/credential-object.ts';
import {
  type Behaviour,
  type GatewayStage,
  gatewayStage,
  type StageOptions,
  verdictFor,
} from '../../test/builders/gateway-stage.ts';
import { collectAnswer, type OpenExchange, openExchange } from '../../test/builders/raw-exchange.ts';
import { waitFor } from '../../test/fakes/wait-for.ts';
import { credentialHash } from '../credentials/keys/credential-hash.ts';
import type { EndpointServices } from './endpoints/shared/endpoint.ts';
import { HeldBytes } from './endpoints/shared/held-bytes.ts';
import type { YAMLReader } from './yaml/yaml-reader.ts';

const maps = '/kubernetes/management/api/v1/namespaces/default/configmaps';
const ownKeys = '/kubernetes/management/apis/management.platform.sh/v1/ownedaccesskeys';

let stage: GatewayStage;
const clients: Socket[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await stage.close();
});

const headOf = (path: string, type: string, length: number) =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer key-of-alice\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n`;

async function start(answer: string, services: Partial<EndpointServices> = {}): Promise<void> {
  stage = await gatewayStage(
    (socket, text) => {
      if (text.startsWith('POST')) socket.end(answer);
    },
    { services },
  );
  stage.know('key-of-alice', verdictFor());
}

/** Sends it, and reads what comes. */
function send(text: string): OpenExchange {
  const sent = openExchange(stage.port, text);
  clients.push(sent.socket);
  collectAnswer(sent);
  return sent;
}

const forbidden = 'HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}';

it('large bodies that are refused before they are read give their places back', async () => {
  await start(forbidden);
  for (let count = 0; count < 8; count += 1) {
    const { seen } = send(headOf(maps, 'application/json', 1_000_000) + 'x'.repeat(300_000));
    await waitFor('an answer', () => seen.answer.includes('\r\n\r\n'));
    expect(seen.answer).toMatch(/^HTTP\/1\.1 403 /);
  }
});

/** Texts of YAML that wait until they are let go on. */
function heldReader() {
  const waiting: (() => void)[] = [];
  const read = async (_: string, text: string) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.push(resolve);
    await promise;
    return { json: JSON.stringify({ spec: { ttl: 600, displayName: String(text.length) } }) };
  };
  return { waiting, yaml: { read } as unknown as YAMLReader };
}

it('a request that was cut while its body waited to be read writes nothing', async () => {
  const { waiting, yaml } = heldReader();
  await start('', { yaml });
  const body = 'spec:\n  ttl: 600\n';
  const { seen } = send(headOf(ownKeys, 'application/yaml', body.length) + body);
  await waitFor('the text', () => waiting.length === 1);
  stage.state.verdicts.clear();
  stage.open.recheck(credentialHash('key-of-alice'));
  await waitFor('the cut', () => seen.isClosed);
  waiting[0]?.();
  for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(stage.seen.filter((text) => text.startsWith('POST'))).toEqual([]);
});

it('what waits is counted for its user also when the client has left', async () => {
  const { waiting, yaml } = heldReader();
  const held = new HeldBytes({ ofCredential: 100_000, ofUser: 100_000, ofAll: 1_000_000 });
  await start('', { yaml, held });
  const body = `# ${'x'.repeat(20_000)}\nspec: {}\n`;
  const text = headOf(ownKeys, 'application/yaml', body.length) + body;
  const { socket, seen } = send(text);
  await waitFor('the text', () => waiting.length === 1);
  socket.destroy();
  await waitFor('the client has left', () => seen.isClosed);
  const second = send(text);
  await waitFor('the refusal', () => second.seen.answer.includes('\r\n\r\n'));
  expect(second.seen.answer).toMatch(/^HTTP\/1\.1 429 /);
  waiting[0]?.();
  await waitFor('room', () => held.hold({ user: 'alice', credential: 'one' }).take(20_000) === undefined);
});

const key = 'key-of-alice';
const mine = '/apis/management.platform.sh/v1/ownedaccesskeys/mine';
const jsonPatch = 'application/json-patch+json';
const enabling = JSON.stringify([{ op: 'add', path: '/spec/disabled', value: false }]);
const apply = 'application/apply-patch+yaml';

const write = (method: string, type: string, body: string) =>
  headOf(`/kubernetes/management${mine}?fieldManager=me`, type, body.length).replace('POST', method) + body;

const answerOf = (status: number, object: object = credentialObject({ name: 'mine' })): string => {
  const text = JSON.stringify(object);
  return `HTTP/1.1 ${status} X\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
};

/** An API server whose answers wait, except for what is read; alice asks it for her key `mine`, with that very key. */
async function startHolding(options: StageOptions = {}, isHeld = (text: string) => !text.startsWith('GET')) {
  const held: { readonly text: string; readonly answer: (text: string) => void }[] = [];
  const behaviour: Behaviour = (socket, text) => {
    if (isHeld(text)) held.push({ text, answer: (answer) => void socket.write(answer) });
    else socket.write(answerOf(200));
  };
  stage = await gatewayStage(behaviour, options);
  const record = liveRecord({ name: 'mine' });
  stage.records.ofKind.OwnedAccessKey.upsert(record);
  stage.know(key, { ...verdictFor(), record });
  return held;
}

function revoke(): void {
  stage.know(key, { reason: 'Disabled' });
  stage.open.recheck(credentialHash(key));
}

/** Until everything is done that waits for no one. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

const firstLines = () => stage.seen.map((text) => text.slice(0, text.indexOf(' HTTP')).replace(/\?.*/, ''));

describe('a write of a key that is revoked while the API server has it', () => {
  it.each([
    ['a patch', write('PATCH', jsonPatch, enabling), [`GET ${mine}`, `PUT ${mine}`]],
    ['a replacement', write('PUT', 'application/json', '{}'), [`GET ${mine}`, `PUT ${mine}`]],
    ['a deletion of itself', write('DELETE', 'application/json', '{}'), [`DELETE ${mine}`]],
  ])('is not sent again, nor is anything read, when it was in conflict: %s', async (_, text, expected) => {
    const held = await startHolding();
    const { seen } = send(text);
    await waitFor('the write', () => held.length === 1);
    revoke();
    await settle();
    expect(seen.isClosed).toBe(false);
    held[0]?.answer(answerOf(409, { kind: 'Status', reason: 'Conflict' }));
    await waitFor('the cut', () => seen.isClosed);
    await settle();
    expect([seen.answer, firstLines()]).toEqual(['', expected]);
  });

  it('is not applied again when it was in conflict', async () => {
    const isWrite = (text: string) => text.includes('force=true');
    const held = await startHolding({}, isWrite);
    const { seen } = send(write('PATCH', apply, 'spec: {}\n'));
    await waitFor('the write', () => held.length === 1);
    revoke();
    held[0]?.answer(answerOf(409, { kind: 'Status', reason: 'Conflict' }));
    await waitFor('the cut', () => seen.isClosed);
    await settle();
    expect([seen.answer, firstLines()]).toEqual(['', [`GET ${mine}`, `PATCH ${mine}`, `PATCH ${mine}`]]);
  });

  it('gets its answer', async () => {
    const held = await startHolding();
    const { seen } = send(write('PATCH', jsonPatch, enabling));
    await waitFor('the write', () => held.length === 1);
    revoke();
    await settle();
    held[0]?.answer(answerOf(200));
    await waitFor('the answer', () => seen.answer.includes('\r\n\r\n'));
    expect(seen.answer).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe('a write that waits for a slot', () => {
  /** With another key of alice: a request that takes the only slot that she may have, as soon as it is free. */
  function queueAnother(): void {
    stage.know('another-of-alice', verdictFor());
    send(`${headOf(maps, 'application/json', 2).replace(key, 'another-of-alice')}{}`);
  }

  const patched = { method: 'PUT', text: write('PATCH', jsonPatch, enabling), before: 'GET /' };
  const applied = { method: 'PATCH', text: write('PATCH', apply, 'spec: {}\n'), before: 'dryRun=All' };
  const ends: readonly (readonly [string, () => void])[] = [
    ['was revoked', revoke],
    ['has ended by the clock', () => void stage.state.verdicts.delete(credentialHash(key))],
  ];

  it.each(ends.flatMap(([why, end]) => [patched, applied].map((sent) => ({ ...sent, why, end }))))(
    'is not sent once its credential $why: $method',
    async ({ text, before, end }) => {
      const isHeld = (sent: string) => [before, '/configmaps'].some((part) => sent.includes(part));
      const held = await startHolding({ connections: 2, maxWaitMs: 20_000 }, isHeld);
      const { seen } = send(text);
      await waitFor('the request before it', () => held.length === 1);
      queueAnother();
      await settle();
      held[0]?.answer(answerOf(200));
      await waitFor('the slot is taken', () => held.length === 2);
      await settle();
      const sent = firstLines();
      end();
      held[1]?.answer(answerOf(201));
      await waitFor('the cut', () => seen.isClosed);
      await settle();
      expect([seen.answer, firstLines()]).toEqual(['', sent]);
    },
  );

  it('is not sent once its credential has ended by the clock: what the gateway passes on as it is', async () => {
    const held = await startHolding({ connections: 2, maxWaitMs: 20_000 });
    queueAnother();
    await waitFor('the slot is taken', () => held.length === 1);
    const { seen } = send(`${headOf(maps, 'application/json', 2)}{}`);
    await settle();
    stage.state.verdicts.delete(credentialHash(key));
    held[0]?.answer(answerOf(201));
    await waitFor('the cut', () => seen.isClosed);
    await settle();
    expect([seen.answer, firstLines().length]).toEqual(['', 1]);
  });

  it('is not sent once its credential was revoked: a deletion of itself', async () => {
    const held = await startHolding({ connections: 2, maxWaitMs: 20_000 });
    queueAnother();
    await waitFor('the slot is taken', () => held.length === 1);
    const { seen } = send(write('DELETE', 'application/json', '{}'));
    await settle();
    revoke();
    held[0]?.answer(answerOf(201));
    await waitFor('the cut', () => seen.isClosed);
    await settle();
    expect([seen.answer, firstLines().filter((line) => line.startsWith('DELETE'))]).toEqual(['', []]);
  });
});

describe('a key that was changed in a version that the gateway has not seen yet', () => {
  const changed = credentialObject({ name: 'mine', spec: { disabled: true } });
  Object.assign(changed.metadata, { resourceVersion: '9' });

  /** The gateway has seen as much as `known.position` says. */
  async function startBehind() {
    const known = { position: '7' };
    const changes = { position: () => known.position } as unknown as EndpointServices['changes'];
    const held = await startHolding({ services: { changes } }, () => true);
    return { known, held };
  }

  const sent = [
    { name: 'a patch', text: write('PATCH', jsonPatch, enabling), next: `PUT ${mine}` },
    { name: 'a replacement', text: write('PUT', 'application/json', '{}'), next: `PUT ${mine}` },
    { name: 'an apply', text: write('PATCH', apply, 'spec: {}\n'), next: `PATCH ${mine}` },
  ];

  it.each(sent)('is judged by that version before it changes itself: $name', async ({ text }) => {
    const { known, held } = await startBehind();
    const { seen } = send(text);
    await waitFor('the read', () => held.length === 1);
    held[0]?.answer(answerOf(200, changed));
    await settle();
    expect(firstLines()).toEqual([`GET ${mine}`]);
    revoke();
    known.position = '9';
    await waitFor('the cut', () => seen.isClosed);
    await settle();
    expect([seen.answer, firstLines()]).toEqual(['', [`GET ${mine}`]]);
  });

  it.each([
    ['PUT', 'application/json', JSON.stringify({ metadata: { resourceVersion: '9' } })],
    ['PATCH', jsonPatch, JSON.stringify([{ op: 'add', path: '/metadata/resourceVersion', value: '9' }])],
    ['PATCH', apply, 'metadata: { resourceVersion: "9" }\n'],
  ])('is not changed in a version that its sender can only guess: %s %s', async (method, type, body) => {
    const { held } = await startBehind();
    const { seen } = send(write(method, type, body));
    await waitFor('the read', () => held.length === 1);
    held[0]?.answer(answerOf(200));
    await waitFor('the refusal', () => seen.answer.includes('\r\n\r\n'));
    expect(seen.answer).toMatch(/^HTTP\/1\.1 409 /);
    expect(firstLines()).toEqual([`GET ${mine}`]);
  });

  it.each(sent)('changes itself when it is good in that version: $name', async ({ text, next }) => {
    const { known, held } = await startBehind();
    send(text);
    await waitFor('the read', () => held.length === 1);
    held[0]?.answer(answerOf(200, changed));
    known.position = '9';
    await waitFor('the write', () => held.length === 2);
    expect(firstLines()).toEqual([`GET ${mine}`, next]);
  });
});
