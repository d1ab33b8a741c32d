import { describe, expect, it } from 'vitest';
import { apiVersion } from '../../../src/api/names.ts';
import { gatewayWorld } from './gateway-world.ts';
import { knownHolder, untilUnknown } from './known-holder.ts';

const world = await gatewayWorld();
const { admin, gateway } = world;
const alice = world.name('alice');
const path = '/kubernetes/management/apis/management.platform.sh/v1/selves';

interface Sent {
  readonly method?: 'POST' | 'GET' | 'PATCH' | 'DELETE';
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: string;
}

async function send(key: string, { method = 'POST', body = '', headers = {}, query = '' }: Sent = {}) {
  const typed = { 'content-type': 'application/json', ...headers };
  const answer = await gateway.send(path + query, { method, key, headers: typed, body });
  return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() };
}

const ask = async (key: string, spec: object = {}) => {
  const { status, text } = await send(key, { body: JSON.stringify({ spec }) });
  return { status, body: JSON.parse(text) };
};

describe('POST selves', () => {
  it('says who the key speaks for and what it is, also with an empty body', async () => {
    const { key, object } = await knownHolder(world, {
      user: alice,
      ttl: 3_600,
      type: 'User',
    });
    const { status, text } = await send(key);
    expect(status).toBe(201);
    expect(JSON.parse(text)).toMatchObject({
      kind: 'Self',
      apiVersion,
      status: {
        user: { name: alice },
        subject: alice,
        groups: ['system:authenticated'],
        accessKey: object.metadata.name,
        accessKeyType: 'User',
        credential: { kind: 'OwnedAccessKey', name: object.metadata.name, uid: object.metadata.uid },
        scopes: [],
        expirationTimestamp: object.status.expirationTimestamp,
        projectNamespacePrefix: 'p-',
      },
    });
  });

  it('names the scopes of the key and of those above it, of which none can hide it', async () => {
    const parent = await knownHolder(world, { user: alice, scope: { projects: [{ project: 'red' }] } });
    const child = await knownHolder(world, { accessKey: parent.object.metadata.name, scope: {} });
    const { body } = await ask(child.key);
    expect(body.status).toMatchObject({
      subject: alice,
      accessKeyScope: {},
      scopes: [
        { kind: 'OwnedAccessKey', name: child.object.metadata.name, scope: {} },
        { name: parent.object.metadata.name, scope: { projects: [{ project: 'red' }] } },
      ],
    });
  });

  it('counts as a use of the key', async () => {
    const { key, object } = await knownHolder(world, { user: alice });
    await ask(key);
    await admin.until(object, 'used', ({ status }) => 'lastActivity' in status);
  });

  it('answers about another key that the client holds, and never shows it', async () => {
    const { key } = await knownHolder(world, { user: alice, scope: {} });
    const other = await knownHolder(world, { user: world.name('bob') });
    const { status, text } = await send(key, { body: JSON.stringify({ spec: { accessKey: other.key } }) });
    expect(status).toBe(201);
    expect(JSON.parse(text).status.accessKey).toBe(other.object.metadata.name);
    expect(text).not.toContain(other.key);
  });

  it('answers 404 about a key that is not known or disabled, with the reason', async () => {
    const { key } = await knownHolder(world, { user: alice });
    const disabled = await knownHolder(world, { user: alice });
    await admin.patch(disabled.object, { spec: { disabled: true } });
    await untilUnknown(gateway, disabled.key);
    expect(await ask(key, { accessKey: disabled.key })).toMatchObject({
      status: 404,
      body: { message: expect.stringContaining('the access key is disabled') },
    });
    expect(await ask(key, { accessKey: 'no-such-key-anywhere' })).toMatchObject({
      status: 404,
      body: { message: expect.stringContaining('no such access key is known') },
    });
  });

  it('takes YAML, and answers in it', async () => {
    const { key } = await knownHolder(world, { user: alice });
    const headers = { 'content-type': 'application/yaml', accept: 'application/yaml' };
    const { status, text } = await send(key, { headers, body: 'metadata:\n  name: me\n' });
    expect([status, text]).toEqual([201, expect.stringMatching(/^kind: Self\n[\s\S]*\n {2}name: me\n/)]);
  });

  it.each<[string, Sent, number]>([
    ['of another kind', { body: '{"kind":"Other"}' }, 400],
    ['of another version', { body: '{"apiVersion":"v1"}' }, 400],
    ['of an unknown field', { body: '{"spec":{"a":1}}' }, 400],
    ['of an unknown field, strictly', { body: '{"spec":{"a":1}}', query: '?fieldValidation=Strict' }, 400],
    ['in protobuf', { headers: { 'content-type': 'application/vnd.kubernetes.protobuf' } }, 415],
    ['of more than a mebibyte', { body: ' '.repeat(2 ** 20 + 1) }, 413],
    ['as GET', { method: 'GET' }, 405],
    ['as PATCH', { method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json' } }, 405],
    ['as DELETE', { method: 'DELETE' }, 405],
  ])('%s is refused', async (_, sent, expected) => {
    const { key } = await knownHolder(world, { user: alice });
    const { status, text } = await send(key, sent);
    expect([status, JSON.parse(text).kind]).toEqual([expected, 'Status']);
  });

  it('is for holders only', async () => {
    const answer = await gateway.send(path, { method: 'POST', body: '{}' });
    await answer.body.dump();
    expect(answer.statusCode).toBe(401);
  });
});
