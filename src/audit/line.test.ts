import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readAuditEvent, schema } from '../../test/builders/audit-lines.ts';
import { liveRecord } from '../../test/builders/credential-object.ts';
import { formatMicroTime } from '../api/instant.ts';
import { type AuditAnnotation, auditAnnotations } from './annotations.ts';
import { constantText, stranger, strangerWith } from './credential.ts';
import { auditLine, type LineInput, maxLineBytes, microTime, newAuditID } from './line.ts';
import { requestURI } from './request-uri.ts';
import { cut, holdsSecret, isOrdinary, unescaped, userAgentText, withoutSecrets } from './text.ts';

const key = `lk_${'aB3'.repeat(17)}`.slice(0, 52);
const token = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl';
const at = Date.UTC(2026, 10, 26, 9, 5, 7, 43);

const input = (parts: Partial<LineInput> = {}): LineInput => ({
  ...{ auditID: newAuditID(), stage: 'ResponseComplete', requestURI: '/api', verb: 'get' },
  ...{ constant: stranger, sources: ['10.0.0.1'], received: at, now: at, annotations: {} },
  ...parts,
});

/** The same as the plainest code would write it. */
function plainLine({ constant, ...input }: LineInput): string {
  const { auditID, stage, requestURI, verb, sources, userAgent, object, code, received, now } = input;
  const { namespace, name, uid, apiGroup, apiVersion, subresource, resource } = object ?? { resource: '' };
  const objectRef = { resource, namespace, name, uid, apiGroup, apiVersion, subresource };
  const required = ['resource', 'apiVersion'];
  const shown = Object.entries(objectRef).filter(([field, text]) => required.includes(field) || text);
  const cleaned = shown.map(([field, text = '']) => [field, cut(withoutSecrets(text), 253)]);
  const annotations = Object.entries(input.annotations).filter(([, text]) => text !== undefined);
  const named = annotations.map(([short, text]) => [auditAnnotations[short as AuditAnnotation], text]);
  const event = {
    ...{ kind: 'Event', apiVersion: 'audit.k8s.io/v1', level: 'Metadata', auditID, stage, requestURI },
    ...{ verb: cut(verb, 64), user: JSON.parse(constant.user), sourceIPs: sources, userAgent },
    objectRef: object && Object.fromEntries(cleaned),
    responseStatus: code === undefined ? undefined : { metadata: {}, code },
    requestReceivedTimestamp: formatMicroTime(received),
    stageTimestamp: formatMicroTime(now),
    annotations: { ...JSON.parse(`{${constant.credential}}`), ...Object.fromEntries(named) },
  };
  const escaped = (text: string) => `\\u${text.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return `${JSON.stringify(event).replace(/[\x7f-\uffff]/g, escaped)}\n`;
}

describe('a line', () => {
  it('has the bytes of its event as JSON, whatever stands in it and whatever was written before', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 60 }),
      fc.constantFrom(
        '',
        'pods',
        'v1',
        'get',
        '__proto__',
        '"',
        '\\',
        'a\nb',
        '\u2028',
        '\ud800',
        'é',
        '\x7f',
        key,
      ),
    );
    const maybe = fc.option(text, { nil: undefined });
    const names = fc.record({ namespace: maybe, name: maybe, uid: maybe, subresource: maybe });
    const object = fc.record({ resource: text, apiGroup: text, apiVersion: text, more: names });
    const notes = fc.dictionary(fc.constantFrom<AuditAnnotation>('target', 'error', 'changed', 'cut'), maybe);
    const when = fc.constantFrom(0, 999, at, at + 1, at + 60_000);
    const sent = fc.record({
      ...{ requestURI: text, verb: text, sources: fc.array(text, { maxLength: 3 }), userAgent: maybe },
      ...{ object: fc.option(object, { nil: undefined }), annotations: notes, received: when, now: when },
      code: fc.option(fc.constantFrom(101, 200, 404, 503), { nil: undefined }),
      stage: fc.constantFrom<LineInput['stage']>('RequestReceived', 'ResponseStarted', 'ResponseComplete'),
    });
    const users = ['alice', 'é"', '\u2028'].map((username) =>
      constantText({ username, groups: ['dev', username] }, liveRecord(), []),
    );
    const line = fc.record({ sent, constant: fc.constantFrom(stranger, ...users) });
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 8 }), (lines) => {
        for (const { sent, constant } of lines) {
          const { object, ...rest } = sent;
          const reference = object && { object: { ...object, ...object.more } };
          const given = input({ ...rest, constant, ...reference });
          expect(auditLine(given)).toBe(plainLine(given));
        }
      }),
      { numRuns: 500 },
    );
  });

  it('has every field of its input under the name of Kubernetes', () => {
    const constant = constantText({ username: 'alice', groups: ['dev'] }, liveRecord(), []);
    const object = { resource: 'pods', namespace: 'shop', name: 'a', apiGroup: '', apiVersion: 'v1' };
    const line = auditLine(
      input({ constant, object, code: 200, userAgent: 'kubectl/v1.36', annotations: { decision: 'allow' } }),
    );
    const { auditID: _, annotations, ...event } = readAuditEvent(line);
    expect(event).toEqual({
      ...{ kind: 'Event', apiVersion: 'audit.k8s.io/v1', level: 'Metadata', stage: 'ResponseComplete' },
      ...{ requestURI: '/api', verb: 'get', user: { username: 'alice', groups: ['dev'] } },
      ...{ sourceIPs: ['10.0.0.1'], userAgent: 'kubectl/v1.36' },
      objectRef: { resource: 'pods', namespace: 'shop', name: 'a', apiVersion: 'v1' },
      responseStatus: { metadata: {}, code: 200 },
      requestReceivedTimestamp: '2026-11-26T09:05:07.043000Z',
      stageTimestamp: '2026-11-26T09:05:07.043000Z',
    });
    const { uid } = liveRecord();
    expect(annotations).toMatchObject({
      credential: 'ci',
      'root-key-uid': uid,
      chain: uid,
      decision: 'allow',
    });
  });

  it('names the key at the top, and all UIDs on the way there', () => {
    const [middle, top] = ['middle', 'top'].map((name) => ({
      ...liveRecord(),
      key: name,
      uid: `uid-${name}`,
    }));
    const constant = constantText({ username: 'alice', groups: [] }, liveRecord(), [middle!, top!]);
    const { annotations } = readAuditEvent(auditLine(input({ constant })));
    expect(annotations).toMatchObject({ 'root-key': 'top', 'root-key-uid': 'uid-top' });
    expect(annotations['chain']).toBe(`${liveRecord().uid} uid-middle uid-top`);
  });

  it('is one line of ASCII that parses and fits into a pipe, whatever stands in it', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 9_000 }),
      fc.constant('"\\\n\u2028é'.repeat(2_000)),
    );
    const groups = fc.array(text, { maxLength: 20 });
    const name = fc.string({ unit: fc.constantFrom(...'abc-.019'), maxLength: 253 });
    const all = fc.record({ uri: text, agent: text, part: text, user: text, groups, verb: text, name });
    fc.assert(
      fc.property(all, ({ uri, agent, part, user, groups, verb, name }) => {
        const ancestors = Array.from({ length: 8 }, () => ({ ...liveRecord(), key: name }));
        const credential = { ...liveRecord(), key: `${name}/${name}` };
        const constant = constantText({ username: user, groups }, credential, ancestors);
        const object = { resource: part, namespace: part, name: part, apiGroup: part, apiVersion: part };
        const sent = { requestURI: requestURI(uri, 1_024), userAgent: userAgentText(agent) };
        const line = auditLine(input({ constant, object: { ...object, subresource: part }, verb, ...sent }));
        expect(line.length <= maxLineBytes && /^[\x20-\x7e]+\n$/.test(line)).toBe(true);
        readAuditEvent(line);
      }),
      { numRuns: 300 },
    );
  });

  it('says when it lost details, and keeps what came of the request', () => {
    const long = '"'.repeat(1_024);
    const object = { resource: long, namespace: long, name: long, apiGroup: long, apiVersion: long };
    const annotations = { decision: 'refuse', error: 'ERR_SCOPE', changed: long } as const;
    const line = auditLine(input({ requestURI: long, userAgent: 'é'.repeat(256), object, annotations }));
    expect(readAuditEvent(line).annotations).toEqual({
      decision: 'refuse',
      error: 'ERR_SCOPE',
      truncated: 'true',
    });
  });

  it('tells clients of one credential apart, whichever sent the line before', () => {
    const { constant } = input();
    const clients = [
      { sources: ['10.0.0.7'], userAgent: 'kubectl' },
      { sources: ['10.0.0.8'], userAgent: 'kubectl' },
      { sources: ['10.0.0.8', '10.0.0.1'], userAgent: 'kubectl' },
      { sources: ['10.0.0.8', '10.0.0.1'], userAgent: 'curl' },
      { sources: ['10.0.0.7'], userAgent: undefined },
    ];
    for (const client of [...clients, ...clients.toReversed(), ...clients]) {
      const { sourceIPs, userAgent, user } = readAuditEvent(auditLine(input({ constant, ...client })));
      expect({ sources: sourceIPs, userAgent }).toEqual(client);
      expect(user).toEqual(JSON.parse(constant.user));
    }
  });

  it('keeps the client of a credential, whatever strangers send and however long another line was', () => {
    const constant = constantText({ username: 'a'.repeat(200), groups: ['é'.repeat(150)] }, liveRecord(), []);
    const line = () => auditLine(input({ auditID: 'same', constant, userAgent: 'kubectl' }));
    const before = line();
    const { lastClient } = constant;
    for (let count = 0; count < 2_000; count += 1)
      auditLine(input({ constant: strangerWith(`sha256:${count}`, undefined), sources: [`10.0.${count}`] }));
    const long = '"'.repeat(1_024);
    const cut = auditLine(
      input({ constant, userAgent: 'kubectl', requestURI: long, annotations: { changed: long } }),
    );
    expect(readAuditEvent(cut).annotations['truncated']).toBe('true');
    expect([line(), constant.lastClient === lastClient]).toEqual([before, true]);
  });

  it('writes times as the API does', () => {
    for (const instant of [0, 999, 1_000, at, at + 957, 1_699_999_999_999.9])
      expect(microTime(instant)).toBe(formatMicroTime(Math.floor(instant)));
  });
});

it('the schema lists every annotation and no other', () => {
  const listed = Object.keys(schema.properties?.['annotations']?.properties ?? {});
  expect(listed.toSorted()).toEqual(Object.values(auditAnnotations).toSorted());
});

describe('no secret', () => {
  const encoded = `%6c%6b_${key.slice(3)}`;
  const base64 = Buffer.from(key).toString('base64');
  const basic = (name: string, password: string) => Buffer.from(`${name}:${password}`).toString('base64');
  it.each([
    ['a query', `/api/v1/pods?token=${key}`, '/api/v1/pods'],
    [
      'a query among others',
      `/api/v1/pods?limit=5&access_token=${token}&watch=1`,
      '/api/v1/pods?limit=5&watch=1',
    ],
    ['a name in the query', `/api/v1/pods?${key}=1&${key}`, '/api/v1/pods'],
    ['a parameter that is kept', `/api/v1/pods?labelSelector=a%3D${key}&limit=5`, '/api/v1/pods?limit=5'],
    ['the same with an encoded letter', `/api/v1/pods?labelSelector=${encoded}`, '/api/v1/pods'],
    ['a parameter that is no text', '/api/v1/pods?labelSelector=%ff', '/api/v1/pods'],
    [
      'a command',
      '/api/v1/pods/a/exec?command=mysql&command=-pSecret1&tty=true',
      '/api/v1/pods/a/exec?tty=true',
    ],
    ['the path', `/api/v1/secrets/${key}`, '/api/v1/secrets/[redacted]'],
    ['the path, encoded', `/proxy/${encoded}/b`, '/proxy/[redacted]'],
    ['the path, in base64', `/api/v1/secrets/${base64}`, '/api/v1/secrets/[redacted]'],
    ['a token in the path', `/api/v1/secrets/${token}`, '/api/v1/secrets/[redacted]'],
    ['the path, encoded twice', `/proxy/${encoded.replaceAll('%', '%25')}/b`, '/proxy/[redacted]'],
    ['the path, as a name and a password', `/proxy/${basic('ab', key)}`, '/proxy/YWI6[redacted]'],
    ['the path, behind another name', `/proxy/${basic('a', key)}`, '/proxy/YTp[redacted]'],
    ['the path, behind a third name', `/proxy/${basic('abc', key)}`, '/proxy/YWJjO[redacted]'],
    ['a token behind a name', `/proxy/${basic('a', token)}`, '/proxy/YTp[redacted]'],
    ['a token behind another name', `/proxy/${basic('abc', token)}`, '/proxy/YWJjO[redacted]'],
    ['a fragment', '/api#access_token=Secret1', '/api'],
    ['a whole URL', 'https://alice:Secret1@host/api', ''],
    ['a path that is no text', `/proxy/%ff/${key}`, '/'],
  ])('stands in the URI from %s', (_, sent, shown) => {
    expect(requestURI(sent, 1_024)).toBe(shown);
  });

  it.each([
    ['a key', `curl/8 ${key}`, 'curl/8 [redacted]'],
    ['an encoded key', `curl/8 ${encoded}`, '[redacted]'],
    ['an encoded key behind a percent sign', `curl 100% ${encoded}`, '[redacted]'],
    ['a header in it', `a Authorization: Bearer abcdefghijkl`, 'a Authorization: [redacted]'],
    ['a private key', '-----BEGIN EC PRIVATE KEY-----MHcCAQ', '-----BEGIN EC [redacted]'],
    ['a percent sign', 'curl 100% pure', 'curl 100% pure'],
    [
      'nothing',
      'kubectl/v1.36.0 (linux/amd64) kubernetes/abc',
      'kubectl/v1.36.0 (linux/amd64) kubernetes/abc',
    ],
  ])('stands in the user agent: %s', (_, sent, shown) => {
    expect(userAgentText(sent)).toBe(shown);
  });

  it('is left where a long user agent was cut', () => {
    const sent = `${'a'.repeat(250)} ${key}`;
    expect(userAgentText(sent)).not.toContain('lk_');
    expect(userAgentText('b'.repeat(16_000))).toHaveLength(256);
  });

  it('is made of the characters of most names and paths alone', () => {
    const alphabet = fc.constantFrom(
      ...'abcdefghijklmnopqrstuvwxyz0123456789./:-',
      'bearer',
      'basic',
      'sa18',
      'lk',
      'eyj',
    );
    fc.assert(
      fc.property(fc.string({ unit: alphabet, maxLength: 80 }), (text) => {
        expect([isOrdinary(text), holdsSecret(text)]).toEqual([true, false]);
        expect([unescaped(text), JSON.stringify(text)]).toEqual([text, `"${text}"`]);
      }),
    );
    for (const other of ['_', 'A', '%', '+', ' ', '"', '\\', 'é', '\n'])
      expect(isOrdinary(`a${other}`)).toBe(false);
  });

  it('stands in a name', () => {
    const object = { resource: 'secrets', namespace: 'shop', name: key, apiGroup: '', apiVersion: 'v1' };
    expect(readAuditEvent(auditLine(input({ object }))).objectRef?.['name']).toBe('[redacted]');
  });

  it('is taken for one in names that Kubernetes knows', () => {
    for (const name of [
      'greyjoy-namespace-one',
      'basic-authentication',
      'bearer-token-request',
      'bulk-operation-a',
      'visa18-payments-production-cluster',
    ])
      expect(requestURI(`/api/v1/namespaces/${name}`, 1_024)).toBe(`/api/v1/namespaces/${name}`);
  });
});
