import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { credentialObject, liveRecord } from '../../test/builders/credential-object.ts';
import { type GatewayStage, gatewayStage, verdictFor } from '../../test/builders/gateway-stage.ts';
import { collectAnswer, type OpenExchange, openExchange } from '../../test/builders/raw-exchange.ts';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { untilStill, waitFor } from '../../test/fakes/wait-for.ts';
import { HeldBytes } from './endpoints/shared/held-bytes.ts';

const ownKeys = '/kubernetes/management/apis/management.platform.sh/v1/ownedaccesskeys';
const [leaked, other] = ['a-key-of-alice-that-leaked', 'another-key-of-alice'];
const maxStallMs = 90_000;
/** More than the system keeps for a client that reads nothing. */
const objects = 16;
const objectBytes = 520_000;
const large = 2 ** 27;
const sharedEqually = (bytes: number) => new HeldBytes({ ofCredential: bytes, ofUser: bytes, ofAll: bytes });

let clock: FakeClock;
let stage: GatewayStage;
let held: HeldBytes;
const clients: Socket[] = [];

beforeEach(() => {
  clock = new FakeClock();
  held = sharedEqually(large);
});

afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await stage.close();
});

/** A gateway that knows two keys of alice, before an API server with as many objects of hers as the names say. */
async function start(names: readonly string[], size: number): Promise<void> {
  const note = 'x'.repeat(size);
  stage = await gatewayStage(
    (socket, text) => {
      const name = /\/ownedaccesskeys\/(\w+)/.exec(text)?.[1] ?? '';
      const object = JSON.stringify(credentialObject({ name, annotations: { note } }));
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${object.length}\r\n\r\n${object}`);
    },
    { clock, maxStallMs, services: { held } },
  );
  for (const key of [leaked, other]) stage.know(key, { ...verdictFor(), record: liveRecord({ name: key }) });
  for (const name of names) stage.records.ofKind.OwnedAccessKey.upsert(liveRecord({ name }));
}

const startLarge = async () =>
  await start(
    Array.from({ length: objects }, (_, index) => `k${10 + index}`),
    objectBytes,
  );

const headOf = (line: string, key: string, ...fields: readonly string[]): string =>
  [`${line} HTTP/1.1`, 'Host: a', `Authorization: Bearer ${key}`, ...fields, '', ''].join('\r\n');

function send(text: string): OpenExchange {
  const sent = openExchange(stage.port, text);
  clients.push(sent.socket);
  return sent;
}

const disable = JSON.stringify({ spec: { disabled: true } });
const patch = async (name: string, key: string): Promise<number> => {
  const fields = ['Connection: close', 'Content-Type: application/merge-patch+json'];
  const head = headOf(`PATCH ${ownKeys}/${name}`, key, ...fields, `Content-Length: ${disable.length}`);
  return Number((await stage.send(head + disable)).split(' ')[1]);
};

/** So much of a body, and no end of it. */
const sendEndless = (size: number) => {
  const fields = ['Content-Type: application/json', 'Content-Length: 30000'];
  const sent = send(headOf(`POST ${ownKeys}`, leaked, ...fields) + ' '.repeat(size));
  collectAnswer(sent);
  return sent;
};

/** Whether anything is held of so much. */
const isHeld = (ofAll: number): boolean => {
  const holding = held.hold({ user: 'alice', credential: other });
  const refusal = holding.take(ofAll / 4);
  holding.release();
  return refusal !== undefined;
};

describe('bodies that never end', () => {
  it('of one key leave its owner the memory to disable it with another', async () => {
    held = new HeldBytes({ ofCredential: 60_000, ofUser: 120_000, ofAll: 1_000_000 });
    await start(['mine'], 6_000);
    const endless = Array.from({ length: 4 }, () => sendEndless(10_000));
    await waitFor('the share is taken', () => endless.some(({ seen }) => seen.answer.includes(' 429 ')));
    expect(await patch('mine', leaked)).toBe(429);
    expect(await patch('mine', other)).toBe(200);
  });

  it('end in time, however often a byte of them comes, and give back what they held', async () => {
    held = sharedEqually(60_000);
    await start(['mine'], 1_000);
    const { socket, seen } = sendEndless(10_000);
    await waitFor('it is held', () => isHeld(60_000));
    for (let seconds = 0; seconds < 30; seconds += 10) {
      expect(seen.answer).toBe('');
      socket.write(' ');
      await clock.advanceAsync(10_000);
    }
    await waitFor('its end', () => seen.isClosed);
    expect(seen.answer).toMatch(/^HTTP\/1\.1 408 [\s\S]*connection: close[\s\S]*ERR_REQUEST_TIMEOUT/i);
    await waitFor('room', () => !isHeld(60_000));
  });
});

describe('a client that reads nothing', () => {
  it.each([
    ['of a list', `GET ${ownKeys}?limit=500`],
    ['of a watch', `GET ${ownKeys}?watch=true`],
  ])('%s is gone when it has stood still for too long, and what was held for it is free', async (_, line) => {
    await startLarge();
    const { socket, seen } = send(headOf(line, leaked));
    await waitFor('objects are read', () => stage.seen.length > 1);
    await untilStill('reads', () => stage.seen.length);
    await waitFor('it is held', () => isHeld(large));
    clock.advance(maxStallMs - 1);
    await clock.settle();
    expect(isHeld(large)).toBe(true);
    clock.advance(maxStallMs);
    await waitFor('room', () => !isHeld(large));
    socket.resume();
    await waitFor('the cut', () => seen.isClosed);
  });
});

it('a client that reads slowly gets all of an answer, however long that takes', async () => {
  await startLarge();
  const { socket, seen } = send(headOf(`GET ${ownKeys}?limit=500`, leaked, 'Connection: close'));
  let size = 0;
  socket.on('data', (chunk) => {
    size += chunk.length;
    socket.pause();
    clock.advance(1_000);
    setImmediate(() => socket.resume());
  });
  await waitFor('all of it', () => seen.isClosed);
  expect(size).toBeGreaterThan(objects * objectBytes);
});
