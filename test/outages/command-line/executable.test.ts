import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { version } from '../../../src/version.ts';
import { buildExecutable } from '../../../tools/executable/build-executable.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'executable-test-'));
const program = path.join(folder, 'latchkey');

beforeAll(async () => await buildExecutable(program));
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs it in an empty folder, with nothing in its path. */
async function latchkey(...args: readonly string[]) {
  const home = path.join(folder, 'home');
  mkdirSync(home, { recursive: true });
  const { promise, resolve } = Promise.withResolvers<{ code: unknown; stdout: string; stderr: string }>();
  execFile(program, args, { cwd: home, env: { HOME: home, PATH: '/nowhere' } }, (error, stdout, stderr) =>
    resolve({ code: error?.code ?? 0, stdout, stderr }),
  );
  return await promise;
}

describe('the command line as one program', () => {
  it('says its version, and nothing of the Node in it', async () => {
    expect(await latchkey('version')).toEqual({ code: 0, stdout: `latchkey ${version}\n`, stderr: '' });
  });

  it('explains the exec plugin', async () => {
    expect(await latchkey('credential', '--help')).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^Usage: latchkey credential [\s\S]*--child-ttl TIME/m),
      stderr: '',
    });
  });

  it('says what is missing where kubectl asks it for a credential', async () => {
    const { code, stderr } = await latchkey('credential', '--base-url', 'https://latchkey.example.com');
    expect([code, stderr]).toEqual([3, expect.stringContaining('latchkey login')]);
  });

  it('has the network in it: no one listens there', async () => {
    const { code, stderr } = await latchkey('login', '--base-url', 'https://127.0.0.1:9', '--device');
    expect([code, stderr]).toEqual([6, expect.stringContaining('nothing listens at 127.0.0.1:9')]);
  });
});
