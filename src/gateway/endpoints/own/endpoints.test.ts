import { afterEach, describe, expect, it } from 'vitest';
import {
  confirmed,
  credentialObject,
  liveRecord,
  plainKeyOf,
  recordOf,
  uidOf,
} from '../../../../test/builders/credential-object.ts';
import {
  type Behaviour,
  type GatewayStage,
  gatewayStage,
  type StageOptions,
  verdictFor,
} from '../../../../test/builders/gateway-stage.ts';
import { waitFor } from '../../../../test/fakes/wait-for.ts';
import { annotations } from '../../../api/names.ts';
import { credentialHash } from '../../../credentials/keys/credential-hash.ts';
import { HeldBytes } from '../shared/held-bytes.ts';

const bearer = 'a-key-that-alice-chose-herself';
const keys = '/apis/management.platform.sh/v1/ownedaccesskeys';
const running: GatewayStage[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((stage) => stage.close()));
});

const answer = (status: number, body: object): string => {
  const text = JSON.stringify(body);
  return `HTTP/1.1 ${status} X\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
};

/** The API server with one object: it answers each request with it. */
const withObject =
  (object: object): Behaviour =>
  (socket, request) =>
    void socket.write(answer(request.startsWith('POST') ? 201 : 200, object));

/** A gateway that knows a key of alice, and one of bob. */
async function start(
  behaviour: Behaviour = withObject(credentialObject({ name: 'mine' })),
  options: StageOptions = {},
) {
  const stage = await gatewayStage(behaviour, options);
  running.push(stage);
  stage.know(bearer, { ...verdictFor(), record: liveRecord({ name: 'self' }) });
  const store = stage.records.ofKind.OwnedAccessKey;
  store.upsert(liveRecord({ name: 'mine' }));
  const ofBob = { annotations: { [annotations.requester]: 'bob' }, spec: { user: 'bob' } };
  store.upsert(liveRecord({ name: 'foreign', ...ofBob }));
  return stage;
}

const request = (line: string, type = 'application/json', body: unknown = undefined) => {
  const text = body === undefined ? '' : JSON.stringify(body);
  const [method = '', path = ''] = line.split(' ');
  return [
    `${method} /kubernetes/management${path} HTTP/1.1`,
    ...['Host: a', 'Connection: close', `Authorization: Bearer ${bearer}`, 'Accept: application/json'],
    ...['Accept-Encoding: gzip', 'User-Agent: tester', `Content-Type: ${type}`],
    `Content-Length: ${Buffer.byteLength(text)}`,
    '',
    text,
  ].join('\r\n');
};
const statusOf = (text: string): number => Number(text.split(' ')[1]);
const [json, merge, apply] = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/apply-patch+yaml',
];
/** The requests that the API server saw, each as its lines in small letters. */
const sentBy = ({ seen }: GatewayStage) =>
  seen
    .join('')
    .split(/(?=(?:GET|POST|PUT|PATCH|DELETE) \/\S* HTTP\/1\.1\r\n)/)
    .map((text) => text.split('\r\n'));
const groupsIn = (lines: readonly string[]) =>
  lines.filter((line) => line.startsWith('impersonate-group')).map((line) => line.slice(19));

describe('a request about one’s own', () => {
  it('is read as the account that may read, without anything of the client', async () => {
    const stage = await start();
    expect(await stage.send(request(`GET ${keys}/mine`))).not.toContain(plainKeyOf('mine'));
    const [lines = []] = sentBy(stage);
    expect(lines[0]).toBe(`GET ${keys}/mine HTTP/1.1`);
    expect(lines).toContain('impersonate-user: system:serviceaccount:latchkey-system:latchkey-reader');
    expect(lines.join('\n')).not.toMatch(/alice|tester|gzip|impersonate-group/);
  });

  it('is read at its status as without it, and no one writes there', async () => {
    const stage = await start();
    const answer = await stage.send(request(`GET ${keys}/mine/status`));
    expect(statusOf(answer)).toBe(200);
    expect(answer).not.toContain(plainKeyOf('mine'));
    expect(sentBy(stage)[0]?.[0]).toBe(`GET ${keys}/mine HTTP/1.1`);
    const sent = stage.seen.length;
    expect(statusOf(await stage.send(request(`GET ${keys}/foreign/status`)))).toBe(404);
    for (const line of [`PUT ${keys}/mine/status`, `GET ${keys}/mine/scale`, `DELETE ${keys}/mine/status`])
      expect(statusOf(await stage.send(request(line)))).toBe(403);
    expect(stage.seen).toHaveLength(sent);
  });

  it.each([
    ['OPTIONS', keys, 'GET, POST, DELETE'],
    ['OPTIONS', `${keys}/mine`, 'GET, PUT, PATCH, DELETE'],
    ['OPTIONS', `${keys}/foreign`, 'GET, PUT, PATCH, DELETE'],
    ['PUT', keys, 'GET, POST, DELETE'],
    ['POST', `${keys}/mine`, 'GET, PUT, PATCH, DELETE'],
    ['OPTIONS', '/apis/management.platform.sh/v1/selves', 'POST'],
  ])('%s %s is told which methods there are', async (method, path, allow) => {
    const stage = await start();
    const answer = await stage.send(request(`${method} ${path}`));
    expect(statusOf(answer)).toBe(405);
    expect(answer).toContain(`\r\nallow: ${allow}\r\n`);
    expect(stage.seen).toEqual([]);
  });

  it.each<[string, string, unknown, string]>([
    [`POST ${keys}`, 'application/json', { spec: {} }, 'POST'],
    [`PUT ${keys}/mine`, 'application/json', { spec: {} }, 'PUT'],
    [`PATCH ${keys}/mine`, json, [{ op: 'add', path: '/spec/ttl', value: 5 }], 'PUT'],
    [`PATCH ${keys}/mine`, merge, { spec: { ttl: 5 } }, 'PUT'],
    [`DELETE ${keys}/mine`, 'application/json', {}, 'DELETE'],
  ])('%s %s is written as the holder with the rights to it: a patch never goes out', async (...row) => {
    const [line, type, body, method] = row;
    // No one waits for what follows from a write that was refused.
    const stage = await start((socket, text) => {
      socket.write(answer(text.startsWith('GET') ? 200 : 403, credentialObject({ name: 'mine' })));
    });
    await stage.send(request(line, type, body));
    const write = sentBy(stage).find(([first = '']) => !first.startsWith('GET')) ?? [];
    expect(write[0]).toMatch(new RegExp(`^${method} `));
    expect(write).toEqual(expect.arrayContaining(['impersonate-user: alice', 'user-agent: tester']));
    expect(groupsIn(write)).toEqual(['dev', 'management.platform.sh:self-service']);
    expect(sentBy(stage).filter(([first = '']) => first.startsWith('PATCH'))).toEqual([]);
  });

  it('is applied with another right, which no other request has', async () => {
    const stage = await start();
    await stage.send(request(`PATCH ${keys}/mine?fieldManager=me`, apply, { spec: { ttl: 5 } }));
    const writes = sentBy(stage).filter(([first = '']) => first.startsWith('PATCH'));
    // First it is asked what the apply leads to.
    expect(writes.map(([first]) => first)).toEqual([
      `PATCH ${keys}/mine?fieldManager=me&fieldValidation=Strict&dryRun=All HTTP/1.1`,
      `PATCH ${keys}/mine?fieldManager=me&fieldValidation=Strict&force=true HTTP/1.1`,
    ]);
    for (const write of writes) {
      expect(groupsIn(write)).toEqual(['dev', 'management.platform.sh:self-service-apply']);
      expect(write).toContain('content-type: application/apply-patch+yaml');
      expect(write.at(-1)).toContain(uidOf('mine'));
    }
    expect(writes[1]?.at(-1)).toContain('"resourceVersion":"7"');
  });

  it.each([[[]], ['a text'], [5], [null]])(
    'is not replaced by a merge patch that is no object: %j',
    async (body) => {
      const stage = await start();
      expect(statusOf(await stage.send(request(`PATCH ${keys}/mine`, merge, body)))).toBe(422);
      expect(sentBy(stage).filter(([first = '']) => first.startsWith('PUT'))).toEqual([]);
    },
  );

  it.each([
    ['another apply', 'application/apply-patch+cbor'],
    ['a strategic merge', 'application/strategic-merge-patch+json'],
    ['no type', ''],
  ])('is not patched by %s', async (_, type) => {
    const stage = await start();
    expect(statusOf(await stage.send(request(`PATCH ${keys}/mine`, type, {})))).toBe(415);
    expect(stage.seen).toEqual([]);
  });

  it.each([
    [`GET ${keys}/mine`],
    [`GET ${keys}`],
    [`PUT ${keys}/mine`],
    [`PATCH ${keys}/mine`],
    [`DELETE ${keys}/mine?dryRun=All`],
  ])('finds no other object that has the name by now: %s', async (line) => {
    const taken = credentialObject({ name: 'mine', metadata: { uid: 'other' } });
    const stage = await start(withObject(taken));
    const text = await stage.send(request(line, merge, { metadata: { name: 'mine' } }));
    expect(text).not.toContain('other');
    expect(statusOf(text)).toBe(line.endsWith('keys') ? 200 : 404);
    expect(sentBy(stage).every(([first = '']) => first.startsWith('GET'))).toBe(true);
  });

  it.each([
    ['GET', ''],
    ['PUT', 'application/json'],
    ['PATCH', json],
    ['PATCH', merge],
    ['PATCH', apply],
    ['DELETE', 'application/json'],
  ])('that is somebody else’s does not reach the API server: %s %s', async (method, type) => {
    const stage = await start();
    const [foreign, none] = [
      await stage.send(request(`${method} ${keys}/foreign`, type, {})),
      method === 'PATCH' && type === apply
        ? ''
        : await stage.send(request(`${method} ${keys}/none`, type, {})),
    ];
    expect(statusOf(foreign)).toBe(404);
    // A second may begin between the two answers.
    const comparable = (text: string) => text.replace(/length: \d+/, '').replace(/^Date: .*$/m, '');
    if (none !== '') expect(comparable(foreign.replaceAll('foreign', 'none'))).toBe(comparable(none));
    expect(stage.seen).toEqual([]);
  });

  it.each([
    ['GET', '/scale'],
    ['PUT', '/status'],
    ['PATCH', '/status'],
    ['POST', '/token'],
  ])('%s of a subresource is refused', async (method, sub) => {
    const stage = await start();
    expect(statusOf(await stage.send(request(`${method} ${keys}/mine${sub}`, merge, {})))).toBe(403);
    expect(stage.seen).toEqual([]);
  });

  it('with a token or a kubeconfig is refused', async () => {
    const stage = await start();
    for (const kind of ['DirectClusterEndpointToken', 'VirtualClusterInstanceKubeConfig'] as const) {
      stage.know(bearer, { ...verdictFor({ roles: [] }), record: liveRecord({ kind }) });
      for (const line of [`GET ${keys}`, `POST ${keys}`, `GET ${keys}/mine`])
        expect(statusOf(await stage.send(request(line, 'application/json', {})))).toBe(403);
    }
    expect(stage.seen).toEqual([]);
  });

  it('of a key with a scope makes its child', async () => {
    const stage = await start();
    stage.know(bearer, { ...verdictFor({ rules: [{}] }), record: liveRecord({ name: 'self' }) });
    await stage.send(request(`POST ${keys}?dryRun=All`, 'application/json', { spec: { ttl: 5 } }));
    const body = JSON.parse(sentBy(stage)[0]?.at(-1) ?? '');
    expect(body.spec).toMatchObject({ ttl: 5, accessKey: 'self', key: expect.stringMatching(/^sha256:/) });
    const other = { spec: { accessKey: 'mine' } };
    const refused = await stage.send(request(`POST ${keys}`, 'application/json', other));
    expect(refused).toMatch(/^HTTP\/1\.1 403 [\s\S]*ERR_PARENT/);
  });

  it('shows a new kubeconfig with a client certificate, whose hash the index does not hold', async () => {
    const parts = {
      kind: 'VirtualClusterInstanceKubeConfig',
      name: 'shop',
      spec: { clientCert: true },
    } as const;
    const metadata = { namespace: 'p-a', resourceVersion: '8' };
    const made = confirmed(
      credentialObject({ ...parts, metadata, status: { kubeConfig: 'the-kubeconfig' } }),
    );
    const stage = await start((socket, text) => {
      const isNew = text.startsWith('POST');
      const sent = { ...made, metadata: { ...made.metadata, resourceVersion: '7' }, status: {} };
      socket.write(isNew ? answer(201, sent) : answer(200, made));
    });
    const { credentialHash: _, ...status } = made.status;
    stage.records.ofKind[parts.kind].upsert(recordOf({ ...made, status }));
    const collection = keys.replace('ownedaccesskeys', 'namespaces/p-a/virtualclusterinstancekubeconfigs');
    const got = await stage.send(request(`POST ${collection}`, 'application/json', { spec: parts.spec }));
    expect(got).toMatch(/^HTTP\/1\.1 201 [\s\S]*"kubeConfig":"the-kubeconfig"/);
    expect(got).not.toContain('does not work yet');
  });

  it.each([`GET ${keys}/mine`, `GET ${keys}`, `GET ${keys}?watch=true&timeoutSeconds=1`])(
    'closes the connection after it, where its body is not read: %s',
    async (line) => {
      const stage = await start();
      const head = request(line).replace(/Connection: close\r\n/, '');
      const got = await stage.send(head.replace(/Content-Length: 0/, 'Content-Length: 1000000'));
      expect(got).toMatch(/^HTTP\/1\.1 200 [\s\S]*connection: close/i);
    },
  );

  it.each([{ dryRun: 'All' }, { dryRun: true }, { preconditions: 'uid' }, { preconditions: ['a'] }])(
    'deletes nothing when it asks in a form that is not served: %j',
    async (options) => {
      const stage = await start();
      for (const line of [`DELETE ${keys}/mine`, `DELETE ${keys}`])
        expect(statusOf(await stage.send(request(line, 'application/json', options)))).toBe(400);
      expect(sentBy(stage).filter(([first = '']) => first.startsWith('DELETE'))).toEqual([]);
    },
  );

  it.each([
    ['PUT', 'application/json', {}],
    ['PATCH', merge, { spec: { ttl: 5 } }],
    ['PATCH', apply, { spec: { ttl: 5 } }],
    ['DELETE', 'application/json', {}],
  ])('keeps its place among the requests of the credential until its answer: %s %s', async (...row) => {
    const [method, type, body] = row;
    const reads: Behaviour = (socket, text) => {
      if (text.startsWith('GET')) socket.write(answer(200, credentialObject({ name: 'mine' })));
    };
    const stage = await start(reads, { maxShort: 1 });
    const first = stage.send(request(`${method} ${keys}/mine`, type, body));
    const isWrite = ([line = '']: readonly string[]) => line !== '' && !line.startsWith('GET');
    await waitFor('it was sent on', () => sentBy(stage).some(isWrite));
    expect(statusOf(await stage.send(request(`GET ${keys}/mine`)))).toBe(429);
    stage.state.verdicts.clear();
    await stage.close();
    await first.catch(() => undefined);
  });

  it('deletes no more of them once the credential has ended', async () => {
    const stage: GatewayStage = await start((socket, text) => {
      const name = /\/ownedaccesskeys\/(\w+)/.exec(text)?.[1] ?? '';
      if (text.startsWith('DELETE')) {
        stage.state.verdicts.clear();
        stage.open.recheck(credentialHash(bearer));
      }
      socket.write(answer(200, credentialObject({ name })));
    });
    for (const name of ['a', 'b']) stage.records.ofKind.OwnedAccessKey.upsert(liveRecord({ name }));
    expect(await stage.send(request(`DELETE ${keys}`, 'application/json', {}))).toBe('');
    expect(sentBy(stage).filter(([first = '']) => first.startsWith('DELETE'))).toHaveLength(1);
  });

  it('deletes the highest key above its own last, which ends the credential, and tells how many it deleted', async () => {
    const [top, lowest] = [liveRecord({ name: 'top' }), liveRecord({ name: 'lowest' })];
    const stage: GatewayStage = await start((socket, text) => {
      const name = /\/ownedaccesskeys\/(\w+)/.exec(text)?.[1] ?? '';
      if (text.startsWith('DELETE')) stage.records.ofKind.OwnedAccessKey.remove(name);
      if (name === 'top') {
        stage.state.verdicts.clear();
        stage.open.recheck(credentialHash(bearer));
      }
      socket.write(answer(200, credentialObject({ name })));
    });
    for (const record of [top, lowest]) stage.records.ofKind.OwnedAccessKey.upsert(record);
    stage.know(bearer, { ...verdictFor(), record: lowest, ancestors: [top] });
    const got = await stage.send(request(`DELETE ${keys}`, 'application/json', {}));
    expect(got).toContain('"message":"deleted 2"');
    const names = ['mine', 'top'];
    expect(sentBy(stage).map(([first = '']) => first)).toEqual(
      names.map((name) => `DELETE ${keys}/${name} HTTP/1.1`),
    );
  });

  it('are deleted without a look at them, where no selector asks for one', async () => {
    const stage: GatewayStage = await start((socket, text) => {
      const name = /\/ownedaccesskeys\/(\w+)/.exec(text)?.[1] ?? '';
      if (text.startsWith('DELETE')) stage.records.ofKind.OwnedAccessKey.remove(name);
      socket.write(answer(200, credentialObject({ name })));
    });
    const got = await stage.send(request(`DELETE ${keys}`, 'application/json', {}));
    expect(got).toContain('"message":"deleted 2"');
    const names = ['mine', 'self'];
    expect(sentBy(stage).map(([first = '']) => first)).toEqual(
      names.map((name) => `DELETE ${keys}/${name} HTTP/1.1`),
    );
  });

  it('is not applied as a new one while the index does not know the one that is there', async () => {
    const stage = await start();
    const got = await stage.send(request(`PATCH ${keys}/unseen?fieldManager=me`, apply, { spec: {} }));
    expect(got).toMatch(/^HTTP\/1\.1 409 [\s\S]*ERR_OBJECT_CONFLICT/);
    expect(sentBy(stage).filter(([first = '']) => first.startsWith('PATCH'))).toEqual([]);
  });

  const annotated = (name: string, size: number) =>
    credentialObject({ name, annotations: { note: 'x'.repeat(size) } });

  it('comes in pages when the list is large, and only so', async () => {
    const stage = await start((socket, text) => {
      const name = /\/ownedaccesskeys\/(\w+)/.exec(text)?.[1] ?? '';
      socket.write(answer(200, annotated(name, 700_000)));
    });
    const names = Array.from({ length: 12 }, (_, index) => `k${10 + index}`);
    for (const name of names) stage.records.ofKind.OwnedAccessKey.upsert(liveRecord({ name }));
    const whole = await stage.send(request(`GET ${keys}`));
    expect(whole).toMatch(/^HTTP\/1\.1 400 [\s\S]*set limit/);
    const page = JSON.parse((await stage.send(request(`GET ${keys}?limit=500`))).split('\r\n\r\n')[1] ?? '');
    expect(page.items).toHaveLength(8);
    const rest = await stage.send(request(`GET ${keys}?limit=500&continue=${page.metadata.continue}`));
    expect(JSON.parse(rest.split('\r\n\r\n')[1] ?? '').items).toHaveLength(6);
  });

  it.each(['PUT', 'GET'])(
    'is refused while the user keeps as much memory as one user may: %s',
    async (method) => {
      const held = new HeldBytes({ ofCredential: 40_000, ofUser: 40_000, ofAll: 40_000 });
      const stage = await start(withObject(annotated('mine', 5_000)), { services: { held } });
      const other = held.hold({ user: 'alice', credential: 'other' });
      other.takeOrThrow(5_000);
      const send = async () => statusOf(await stage.send(request(`${method} ${keys}/mine`, undefined, {})));
      expect(await send()).toBe(429);
      other.release();
      expect(await send()).toBe(200);
      expect(await send()).toBe(200);
    },
  );

  it('gets no more than the quota', async () => {
    const stage = await start();
    for (const name of ['b', 'c']) stage.records.ofKind.OwnedAccessKey.upsert(liveRecord({ name }));
    const refused = await stage.send(request(`POST ${keys}`, 'application/json', {}));
    expect(refused).toMatch(/^HTTP\/1\.1 429 [\s\S]*retry-after: 60[\s\S]*ERR_QUOTA/i);
    expect(stage.seen).toEqual([]);
  });

  it.each([
    ['no JSON', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok', 502],
    ['a refusal of the reader', answer(403, { kind: 'Status', message: plainKeyOf('mine') }), 503],
    ['a refusal of the gateway', answer(401, {}), 503],
  ])('is answered with an error of the gateway when the API server gives %s', async (_, text, status) => {
    const stage = await start((socket) => void socket.write(text));
    const got = await stage.send(request(`GET ${keys}/mine`));
    expect(statusOf(got)).toBe(status);
    expect(got).not.toContain(plainKeyOf('mine'));
  });

  const texts = { type: 'text/plain', retry: '' };
  it.each([
    [429, { ...texts, text: 'slow down', retry: 'Retry-After: 7\r\n' }, '7', '"slow down"'],
    [429, { ...texts, text: plainKeyOf('mine') }, '1', 'redacted'],
    [503, { ...texts, type: 'text/html', text: '<html>' }, '1', '"the API server answered with 503"'],
    [503, { ...texts, text: 'dial tcp 10.0.0.1:6443' }, '1', '"the API server answered with 503"'],
  ])(
    'is refused with a Status also when the API server has no more than a text: %i %o',
    async (code, sent, after, message) => {
      const { type, text, retry } = sent;
      const head = `Content-Type: ${type}\r\n${retry}Content-Length: ${text.length}`;
      const stage = await start(
        (socket) => void socket.write(`HTTP/1.1 ${code} X\r\n${head}\r\n\r\n${text}`),
      );
      const got = await stage.send(request(`POST ${keys}`, undefined, { spec: { key: plainKeyOf('mine') } }));
      const [, body = ''] = got.split('\r\n\r\n');
      expect([statusOf(got), JSON.parse(body).kind]).toEqual([code, 'Status']);
      expect(got).toMatch(new RegExp(`retry-after: ${after}\r\n`, 'i'));
      expect(body).toContain(message);
      expect(body).not.toContain(plainKeyOf('mine'));
    },
  );

  it('shows no known key in what the API server refuses', async () => {
    const quoting: Behaviour = (socket, text) => {
      const message = `Invalid value: "${plainKeyOf('mine')}"`;
      const refusal = answer(422, { kind: 'Status', message, details: { causes: [{ message }] } });
      socket.write(text.startsWith('GET') ? answer(200, credentialObject({ name: 'mine' })) : refusal);
    };
    const stage = await start(quoting);
    const got = await stage.send(request(`PATCH ${keys}/mine`, merge, { spec: { ttl: 'x' } }));
    expect(statusOf(got)).toBe(422);
    expect(got).not.toContain(plainKeyOf('mine'));
  });
});
