import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { aKey, baseURL, Person } from '../../../test/builders/command-line.ts';
import type { SentRequest } from '../shared/context.ts';

let person: Person;
beforeEach(() => {
  person = new Person();
});
afterEach(() => person.end());

const line = `exchange --trust ci-shop --base-url ${baseURL}`;
const answers = { 'POST /oauth/token': { access_token: aKey, expires_in: 900 } };
const formOf = (request: SentRequest | undefined) => Object.fromEntries(new URLSearchParams(request?.body));

describe('latchkey exchange', () => {
  it('sends the token of a variable, and prints the key alone', async () => {
    const { code, stdout } = await person.run(line, { answers, env: { LATCHKEY_ID_TOKEN: 'a.b.c\n' } });
    expect([code, stdout]).toEqual([0, `${aKey}\n`]);
    expect(formOf(person.sent[0])).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: 'a.b.c',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      audience: 'ci-shop',
    });
    expect(person.sent[0]?.headers['authorization']).toBeUndefined();
  });

  it('asks GitHub for a token with the base URL as its audience', async () => {
    const url = 'https://token.actions.example.com/id?a=b';
    const env = {
      GITHUB_ACTIONS: 'true',
      ACTIONS_ID_TOKEN_REQUEST_URL: url,
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'job',
    };
    const github = { [`GET /id?a=b&audience=${encodeURIComponent(baseURL)}`]: { value: 'd.e.f' } };
    const { code } = await person.run(line, { answers: { ...answers, ...github }, env });
    expect([code, formOf(person.sent[1])['subject_token']]).toEqual([0, 'd.e.f']);
    expect(person.sent[0]?.headers['authorization']).toBe('Bearer job');
  });

  it('reads the token of a file', async () => {
    const file = person.write('token', 'g.h.i\n');
    await person.run(line, { answers, env: { LATCHKEY_ID_TOKEN_FILE: file } });
    expect(formOf(person.sent[0])['subject_token']).toBe('g.h.i');
  });

  it('says when the key ends, for scripts', async () => {
    const now = () => Date.parse('2026-01-01T00:00:00Z');
    const { stdout } = await person.run(`${line} -o json`, {
      answers,
      now,
      env: { LATCHKEY_ID_TOKEN: 'a.b.c' },
    });
    expect(JSON.parse(stdout)).toEqual({ key: aKey, expirationTimestamp: '2026-01-01T00:15:00Z' });
  });

  it.each([
    ['invalid_target', 5, 'ci-shop takes no such token', 'Check the name in `--trust`'],
    ['invalid_request', 2, 'the token has ended', 'that the token is whole'],
    ['temporarily_unavailable', 6, 'too many', 'Wait a moment'],
    ['something_new', 1, 'who knows', 'ask who runs the gateway'],
  ])('says %s in the words of the gateway', async (...[error, expected, description, fix]) => {
    const refused = { 'POST /oauth/token': { error, error_description: description } };
    const { code, stderr } = await person.run(line, {
      answers: refused,
      env: { LATCHKEY_ID_TOKEN: 'a.b.c' },
    });
    expect([code, stderr]).toEqual([expected, expect.stringContaining(`latchkey: ${description}\n`)]);
    expect(stderr).toContain(fix);
  });
});

it('latchkey credential --trust exchanges once, and again when a fifth of the life is left', async () => {
  let now = Date.parse('2026-01-01T00:00:00Z');
  const ask = async (ppid: number) =>
    await person.run(`credential --base-url ${baseURL} --trust ci-shop`, {
      ...{ answers, ppid, now: () => now },
      env: { LATCHKEY_ID_TOKEN: 'a.b.c', KUBERNETES_EXEC_INFO: '{}' },
    });
  expect(JSON.parse((await ask(1)).stdout).status).toEqual({
    token: aKey,
    expirationTimestamp: '2026-01-01T00:12:00Z',
  });
  now += 4 * 60_000;
  await ask(2);
  expect(person.sent).toHaveLength(1);
  now += 8 * 60_000;
  await ask(3);
  expect(person.sent).toHaveLength(2);
});
