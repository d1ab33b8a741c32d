import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { credentialObject, liveRecord } from '../../../../test/builders/credential-object.ts';
import { type GatewayStage, gatewayStage, verdictFor } from '../../../../test/builders/gateway-stage.ts';
import { asObject, type JsonObject } from '../../../api/json.ts';

const bearer = 'a-key-that-alice-chose-herself';
const path = '/apis/management.platform.sh/v1/ownedaccesskeys/mine';
const secrets: Readonly<Record<string, string>> = {
  '/spec/identity/connectorData': 'connector-data-of-alice',
  '/spec/oidcLogin/idToken': 'id-token-of-alice',
  '/spec/oidcLogin/accessToken': 'access-token-of-alice',
  '/spec/oidcLogin/refreshToken': 'refresh-token-of-alice',
};
const [connectorData, idToken, accessToken, refreshToken] = Object.values(secrets);
/** As it is stored between two writes of the operator, which takes the data away. */
const stored = credentialObject({
  name: 'mine',
  spec: {
    identity: { username: 'alice', connectorData },
    oidcLogin: { idToken, accessToken, refreshToken, lastRefresh: '2026-11-21T10:00:00Z' },
  },
});

let stage: GatewayStage;
afterEach(async () => await stage.close());

const answer = (status: number, body: object): string => {
  const text = JSON.stringify(body);
  return `HTTP/1.1 ${status} X\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
};

/** An API server that refuses every write with all that it was sent. */
beforeEach(async () => {
  stage = await gatewayStage((socket, text) => {
    if (text.startsWith('GET')) return void socket.write(answer(200, stored));
    const [, body] = /(\{.*\})/.exec(text) ?? [];
    const refusal = { kind: 'Status', message: `Invalid value: ${body}` };
    if (body !== undefined) socket.write(answer(422, refusal));
  });
  stage.know(bearer, { ...verdictFor(), record: liveRecord({ name: 'self' }) });
  stage.records.ofKind.OwnedAccessKey.upsert(liveRecord({ name: 'mine' }));
});

/** The answer to a JSON patch of the object, and what the API server was sent in its place. */
async function patch(operation: object): Promise<{ readonly got: string; readonly sent: JsonObject }> {
  const before = stage.seen.length;
  const text = JSON.stringify([operation]);
  const head = [`PATCH /kubernetes/management${path} HTTP/1.1`, 'Host: a', 'Connection: close'];
  const headers = [
    `Authorization: Bearer ${bearer}`,
    'Content-Type: application/json-patch+json',
    `Content-Length: ${text.length}`,
  ];
  const got = await stage.send([...head, ...headers, '', text].join('\r\n'));
  const seen = stage.seen.slice(before).join('');
  const [, put = '{}'] = /PUT [\s\S]*?\r\n\r\n(\{.*\})/.exec(seen) ?? [];
  return { got, sent: JSON.parse(put) };
}

/** Without the fields where the data belongs. */
function elsewhere(object: JsonObject): string {
  const spec = asObject(object['spec']);
  const { connectorData: _, ...identity } = asObject(spec['identity']);
  const { lastRefresh } = asObject(spec['oidcLogin']);
  return JSON.stringify({ ...object, spec: { ...spec, identity, oidcLogin: { lastRefresh } } });
}

const publicPlaces = [
  '/metadata/name',
  '/metadata/labels/note',
  '/metadata/annotations',
  '/metadata/annotations/note',
  '/metadata/finalizers/0',
  '/spec/displayName',
  '/spec/ttl',
  '/spec/scope',
  '/spec',
  '',
];

describe.each(Object.keys(secrets))('a patch copies no data of a login: %s', (field) => {
  it.each(publicPlaces)('to "%s"', async (to) => {
    for (const op of ['copy', 'move'])
      for (const from of [field, field.replace(/\/[^/]+$/, ''), '']) {
        const { got, sent } = await patch({ op, from, path: to });
        for (const secret of Object.values(secrets)) {
          expect(got).not.toContain(secret);
          expect(elsewhere(sent)).not.toContain(secret);
        }
      }
  });
});

it('a patch of something else leaves it as it is stored', async () => {
  const { got, sent } = await patch({ op: 'add', path: '/spec/displayName', value: 'Shop' });
  expect(got).toMatch(/^HTTP\/1\.1 422 /);
  const { identity, oidcLogin } = asObject(stored['spec']);
  expect(sent['spec']).toMatchObject({ displayName: 'Shop', identity, oidcLogin });
  for (const secret of Object.values(secrets)) expect(got).not.toContain(secret);
});
