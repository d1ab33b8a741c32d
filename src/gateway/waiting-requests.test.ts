import { connect, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { type GatewayStage, gatewayStage, verdictFor } from '../../test/builders/gateway-stage.ts';
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
function send(text: string) {
  const seen = { answer: '', isClosed: false };
  const socket = connect(stage.port, '127.0.0.1', () => void socket.write(text));
  clients.push(socket);
  socket
    .on('error', () => undefined)
    .on('close', () => {
      seen.isClosed = true;
    })
    .on('data', (chunk) => {
      seen.answer += chunk.toString('latin1');
    });
  return { seen, socket };
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
