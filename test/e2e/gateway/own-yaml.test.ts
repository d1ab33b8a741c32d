import { describe, expect, it } from 'vitest';
import { clientWith } from './api-client.ts';
import { gatewayWorld } from './gateway-world.ts';
import { management, ownAPI, ownClient, ownKeys } from './own-client.ts';

const world = await gatewayWorld();
const alice = await ownClient(world, { user: world.name('alice') });
const mallory = await ownClient(world, { user: world.name('mallory') });
const direct = await clientWith(world.plane.adminKubeconfig);
const type = 'application/yaml';
const json = 'application/json';
const merge = 'application/merge-patch+json';
const jsonPatch = 'application/json-patch+json';
const apply = 'application/apply-patch+yaml';
const megabyte = 2 ** 20;
const post = async (body: string) => await alice.send('POST', ownKeys, { type, body });
const reason = ({ status, body }: Awaited<ReturnType<typeof post>>) => [status, body.message];

/** So long in all. */
const padded = (text: string, length: number) => {
  const line = `# ${'a note of a person '.repeat(5)}\n`;
  const rest = length - text.length;
  return text + line.repeat(Math.floor(rest / line.length)) + '#'.repeat(rest % line.length);
};
const nested = (levels: number) =>
  Array.from({ length: levels }, (_, level) => `${' '.repeat(level)}a:`).join('\n');

describe('a body in YAML', () => {
  it.each([
    ['POST', ownKeys, type, 201],
    ['PATCH', `${ownKeys}/${world.name('applied')}?fieldManager=tester`, 'application/apply-patch+yaml', 201],
  ])('of a megabyte is read: %s', async (method, place, contentType, expected) => {
    const body = padded('spec:\n  ttl: 600\n  displayName: large\n', megabyte);
    const answer = await alice.send(method, place, { type: contentType, body });
    expect([answer.status, answer.body.spec.displayName]).toEqual([expected, 'large']);
  });

  it('of a megabyte is read where somebody asks who they are', async () => {
    const sent = { type, body: padded('spec: {}\n', megabyte) };
    expect((await alice.send('POST', `${ownAPI}/selves`, sent)).status).toBe(201);
    const more = { type, body: padded('spec: {}\n', megabyte + 1) };
    expect((await alice.send('POST', `${ownAPI}/selves`, more)).status).toBe(413);
  });

  it('of more gets 413', async () => {
    expect((await post(padded('spec:\n  ttl: 600\n', megabyte + 1))).status).toBe(413);
  });

  it.each([
    ['101 aliases', `a: &a [1]\nb:\n${'  - *a\n'.repeat(101)}`, 'more than 100 aliases'],
    ['65 levels', nested(66), 'deeper than 64 levels'],
    ['a key twice', 'spec:\n  ttl: 1\n  ttl: 2\n', 'a key stands twice'],
  ])('with %s gets 400, short and long', async (_, text, problem) => {
    for (const body of [text, padded(`${text}\n`, 100_000)])
      expect(reason(await post(body))).toEqual([400, expect.stringContaining(problem)]);
  });

  it('that is made to take minutes gets 400, and other users are served meanwhile', async () => {
    const body = `[${','.repeat(megabyte - 2)}`;
    let isOver = false;
    const bomb = mallory.send('POST', ownKeys, { type, body }).finally(() => {
      isOver = true;
    });
    const times: number[] = [];
    while (!isOver) {
      const start = performance.now();
      const { status } = await alice.send('GET', `${management}/version`);
      times.push(performance.now() - start);
      expect(status).toBe(200);
    }
    expect((await bomb).status).toBe(400);
    expect(times.length).toBeGreaterThan(10);
    expect(Math.max(...times)).toBeLessThan(5_000);
    const { status } = await post(padded('spec:\n  ttl: 600\n', 100_000));
    expect(status).toBe(201);
  });
});

describe('a number that no object can hold', () => {
  const query = '?fieldManager=tester&dryRun=All';
  const key = (ttl: string) =>
    `{"apiVersion": "management.platform.sh/v1", "kind": "OwnedAccessKey", "spec": {"ttl": ${ttl}}}`;
  const instance = `${ownAPI}/namespaces/${world.name('project')}/virtualclusterinstances/shop`;
  const made = alice.object.metadata.name;
  const refused = async (method: string, at: string, type: string, body: string) => {
    const answer = await alice.send(method, at, { type, body });
    expect(reason(answer)).toEqual([400, expect.stringContaining('a number that is infinite')]);
  };

  it.each([
    ['POST', '', json, key('1e400')],
    ['POST', '', json, key('-1e400')],
    ['POST', '', type, key('.inf')],
    ['POST', '', type, key('-.inf')],
    ['POST', '', type, key('.nan')],
    ['PUT', made, json, key('1e400')],
    ['PUT', made, type, key('.inf')],
    ['PATCH', made, merge, '{"spec": {"ttl": 1e400}}'],
    ['PATCH', made, jsonPatch, '[{"op": "add", "path": "/spec/ttl", "value": 1e400}]'],
    ['PATCH', made, apply, key('.inf')],
    ['PATCH', world.name('new'), apply, key('.nan')],
  ])('is refused as the API server refuses it: %s %s as %s: %s', async (method, place, type, body) => {
    const path = `${ownKeys}${place && `/${place}`}${query}`;
    const headers = { 'content-type': type };
    const apiPath = path.replace(management, '');
    expect((await direct.send({ method, path: apiPath, body, headers })).status).toBe(400);
    await refused(method, path, type, body);
  });

  it.each([
    ['POST', ownKeys, json, key('9007199254740993')],
    ['POST', ownKeys, type, key('9007199254740993')],
    ['PATCH', `${ownKeys}/${made}`, merge, '{"spec": {"ttl": 9007199254740993}}'],
    ['PATCH', `${ownKeys}/${made}${query}`, apply, key('1e400')],
    ['POST', `${instance}/kubeconfig`, json, '{"spec": {"certificateTTL": 1e400}}'],
    ['POST', `${instance}/kubeconfig`, type, 'spec: {certificateTTL: .inf}'],
    ['POST', `${ownAPI}/selves`, type, 'spec: {accessKey: .nan}'],
    ['DELETE', `${ownKeys}/${made}`, json, '{"gracePeriodSeconds": 1e400}'],
  ])('never becomes another one: %s %s as %s: %s', refused);
});
