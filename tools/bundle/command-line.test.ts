import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cachePlace, sourceVersion, writeCache } from '../../src/cli/credential/cache.ts';
import { buildCommandLine } from './build-command-line.ts';

const baseURL = 'https://latchkey.example.com';
const words = ['credential', '--base-url', baseURL];
let folder: string;
let program: string;
let inputs: readonly string[];

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'latchkey-cli-bundle-'));
  program = path.join(folder, 'latchkey.cjs');
  inputs = Object.keys((await buildCommandLine(program)).inputs);
  const sessions = path.join(folder, '.config/latchkey/sessions.json');
  mkdirSync(path.dirname(sessions), { recursive: true });
  writeFileSync(sessions, '{"version":1,"sessions":[]}', { mode: 0o600 });
  const place = cachePlace({ baseURL, from: 'session' }, { env: { HOME: folder }, platform: 'linux' });
  const version = sourceVersion(sessions);
  writeCache(place, { source: place.source, version, key: 'lk_x', checked: Date.now() });
}, 60_000);

afterAll(() => rmSync(folder, { recursive: true }));

/** Runs this Node with nothing but a home, and gives the time that it took. */
function run(args: readonly string[]) {
  const started = performance.now();
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    env: { HOME: folder },
    encoding: 'utf8',
  });
  return { code: status, stdout, stderr, ms: performance.now() - started };
}

describe('the bundle of the command line', () => {
  it('has at most 300 kB, and one package beside the sources', () => {
    expect(statSync(program).size).toBeLessThanOrEqual(300_000);
    const packages = inputs.flatMap((file) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? []);
    expect([...new Set(packages)]).toEqual(['yaml']);
  });

  it('holds nothing of the operator and the gateway', () => {
    expect(
      inputs.filter((file) => /^src\/(?:operator|gateway|kube|platform|settings|telemetry)\//.test(file)),
    ).toEqual([]);
  });

  it('runs without node_modules, and says what is wrong', () => {
    expect(run([program, '--help'])).toMatchObject({ code: 0, stderr: '' });
    expect(run([program, 'whoami'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no gateway is named'),
    });
  });

  // The benchmark cli-start measures it; a busy machine leaves no quiet moment to hold a run to its goal of 1.5.
  it('gives kubectl a cached credential in less than twice the start of Node', () => {
    expect(JSON.parse(run([program, ...words]).stdout)).toMatchObject({
      kind: 'ExecCredential',
      status: { token: 'lk_x' },
    });
    const [least, empty] = [{ ms: Number.POSITIVE_INFINITY }, { ms: Number.POSITIVE_INFINITY }];
    // A busy machine makes single runs longer, never shorter.
    for (let round = 0; round < 40 && (round < 5 || least.ms > 2 * empty.ms); round += 1) {
      empty.ms = Math.min(empty.ms, run(['-e', '0']).ms);
      least.ms = Math.min(least.ms, run([program, ...words]).ms);
    }
    expect(least.ms / empty.ms).toBeLessThanOrEqual(2);
  });
});
