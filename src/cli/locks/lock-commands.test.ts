import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Person } from '../../../test/builders/command-line.ts';

let person: Person;
beforeEach(() => {
  person = new Person();
});
afterEach(() => person.end());

const now = Date.UTC(2026, 10, 26, 18, 0, 0, 300);

/** By the clock of the platform, while those of the tests' laptops show something else. */
const platformTime = '2026-11-26T18:05:00Z';

/** A kubectl that takes everything, or says this. */
function cluster(status: object = { stops: 'user ada', stoppedCredentials: 3 }, refusal?: string) {
  const calls: { readonly args: readonly string[]; readonly input: string | undefined }[] = [];
  const run = async (_: string, args: readonly string[], input?: string) => {
    calls.push({ args, input });
    const metadata = { creationTimestamp: platformTime };
    return refusal === undefined
      ? { code: 0, stdout: JSON.stringify({ metadata, status }), stderr: '' }
      : { code: 1, stdout: '', stderr: refusal };
  };
  const made = () => calls.find(({ args }) => args[0] === 'create' && !args.includes('--dry-run=server'));
  const specOf = () => JSON.parse(made()?.input ?? '{}').spec;
  return { calls, run, made, specOf };
}

describe('latchkey lock', () => {
  it.each<[string, object]>([
    ['--user ada', { user: 'ada' }],
    [
      '--group dev --issued-before 2026-11-26T17:00:00Z',
      { group: 'dev', issuedBefore: '2026-11-26T17:00:00Z' },
    ],
    ['--requester ada', { requester: 'ada' }],
    ['--key ci', { accessKey: { name: 'ci' } }],
    ['--key ci --uid u1', { accessKey: { name: 'ci', uid: 'u1' } }],
    ['--hash abc', { credentialHash: 'abc' }],
    ['--issuer https://ci', { exchange: { issuer: 'https://ci' } }],
    ['--issuer https://ci --subject a', { exchange: { issuer: 'https://ci', subject: 'a' } }],
    ['--signing-key k1', { signingKeyID: 'k1' }],
    ['--everyone --issued-before 2026-11-26T17:00:00Z', { issuedBefore: '2026-11-26T17:00:00Z' }],
    [
      '--user ada --for 24h --reason INC-1',
      { user: 'ada', expirationTimestamp: '2026-11-27T18:05:00Z', reason: 'INC-1' },
    ],
  ])('with %s makes a lock that says so', async (options, spec) => {
    const { made, run, specOf } = cluster();
    const { code, stderr } = await person.run(`lock incident ${options}`, { run, now: () => now });
    expect([code, specOf()]).toEqual([0, spec]);
    expect(made()?.args.slice(0, 3)).toEqual(['create', '-f', '-']);
    expect(stderr).toBe('The lock incident is in force: user ada (3 credentials).\n');
  });

  it('with "now" stops what was made in this second of the platform, however late the laptop is, and is done when that is over', async () => {
    const { run, specOf } = cluster();
    let clock = now;
    const begun = performance.now();
    await person.run('lock incident --user ada --issued-before now', { run, now: () => (clock += 200) });
    expect(specOf().issuedBefore).toBe('2026-11-26T18:05:01Z');
    expect(performance.now() - begun).toBeGreaterThan(500);
  });

  it('with "now" is not made where the platform does not say what time it is', async () => {
    const run = async () => ({ code: 0, stdout: '{}', stderr: '' });
    const { code, stderr } = await person.run('lock incident --user ada --issued-before now', { run });
    expect([code, stderr]).toEqual([1, expect.stringContaining('RFC 3339')]);
  });

  it('says so where nothing is stopped', async () => {
    const { run } = cluster({ stops: 'user Ada', stoppedCredentials: 0 });
    const { stderr } = await person.run('lock incident --user Ada', { run, now: () => now });
    expect(stderr).toContain('names are compared exactly, also in case');
  });

  it('fails where the operator does not obey, and says what goes on', async () => {
    const { run } = cluster({});
    let asked = 0;
    const late = () => now + 20_000 * asked++;
    const { code, stderr } = await person.run('lock incident --user ada', { run, now: late });
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('client certificates in virtual clusters go on working'),
    ]);
  });

  it.each([
    '',
    '--for 24h',
    '--user a --group b',
    '--user a --uid u',
    '--group g --subject s',
    '--user a --issued-before soon',
    '--issued-before now',
    '--everyone',
    '--everyone --user a --issued-before now',
  ])('is not made of: %s', async (options) => {
    const { calls, run } = cluster();
    const { code } = await person.run(`lock incident ${options}`.trim(), { run, now: () => now });
    expect([code, calls]).toEqual([2, []]);
  });

  it('names the role that its user lacks', async () => {
    const refusal = 'Error from server (Forbidden): … needs the verb lock … (code ERR_POLICY_LOCK)';
    const { code, stderr } = await person.run('lock a --user b', { run: cluster({}, refusal).run });
    expect([code, stderr]).toEqual([4, expect.stringContaining('latchkey-locker')]);
  });
});

it('latchkey unlock deletes all that it names, in the context that it is given', async () => {
  const { calls, run } = cluster();
  expect((await person.run('unlock one two --context prod', { run })).code).toBe(0);
  expect(calls[0]?.args.slice(0, 6)).toEqual(['--context', 'prod', 'delete', 'credentiallock', 'one', 'two']);
  const missing = cluster({}, 'Error from server (NotFound): credentiallocks "x" not found');
  expect((await person.run('unlock x', { run: missing.run })).code).toBe(5);
});

it('latchkey locks shows what is stopped, how many, and until when', async () => {
  const item = {
    metadata: { name: 'laptop' },
    spec: { user: 'ada', reason: 'INC-1', expirationTimestamp: '2026-11-27T18:00:01Z' },
    status: { stops: 'user ada', stoppedCredentials: 3, state: 'Ready' },
  };
  const run = async () => ({ code: 0, stdout: JSON.stringify({ kind: 'List', items: [item] }), stderr: '' });
  const { stdout } = await person.run('locks -o wide', { run, now: () => now });
  expect(stdout).toMatch(
    /^NAME +STOPS +CREDENTIALS +STATE +ENDS +REASON\nlaptop +user ada +3 +Ready +in 24h +INC-1\n$/,
  );
  const none = async () => ({ code: 0, stdout: '{"items":[]}', stderr: '' });
  expect((await person.run('locks', { run: none })).stderr).toBe('There are no locks.\n');
});
