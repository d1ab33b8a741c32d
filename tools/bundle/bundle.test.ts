import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildBundle } from './build-bundle.ts';
import { licenceTexts, packageFolders } from './licences.ts';

let folder: string;
let inputs: readonly string[];

/** Starts the bundle where no node_modules is in reach, as in the image. */
function latchkey(args: readonly string[], env: Record<string, string> = {}) {
  const { promise, resolve } = Promise.withResolvers<{ code: unknown; stdout: string; stderr: string }>();
  execFile(
    process.execPath,
    ['latchkey.mjs', ...args],
    { cwd: folder, env, timeout: 10_000 },
    (error, stdout, stderr) => resolve({ code: error?.code ?? 0, stdout, stderr }),
  );
  return promise;
}

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'latchkey-bundle-'));
  inputs = Object.keys((await buildBundle(path.join(folder, 'latchkey.mjs'))).inputs);
}, 60_000);

afterAll(() => rm(folder, { recursive: true }));

describe('the bundle', () => {
  it('runs without node_modules and says its version', async () => {
    const { code, stdout, stderr } = await latchkey(['version']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^latchkey \d+\.\d+\.\d+ \(node \d/);
  });

  it('lists its commands', async () => {
    const { code, stdout } = await latchkey(['--help']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/Usage: latchkey <command>[\s\S]*\n {2}operator {2,}\S/);
  });

  it('ends with 2 and names the commands when it does not know one', async () => {
    expect(await latchkey(['gatewya'])).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(
        'latchkey: unknown command "gatewya"; the commands are: operator, gateway, direct-endpoint, direct-endpoint print-config, version\n',
      ),
    });
  });

  it('loads the operator, ends with 2 and names what is missing when it has no settings', async () => {
    expect(await latchkey(['operator'])).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('LATCHKEY_BASE_URL is required: set it to a value'),
    });
  });

  it('reports every unusable setting', async () => {
    const { code, stderr } = await latchkey(['operator'], {
      LATCHKEY_BASE_URL: 'http://latchkey.example.com',
      LATCHKEY_LEASE_DURATION: 'soon',
    });
    expect(code).toBe(2);
    expect(stderr).toContain('  LATCHKEY_BASE_URL must begin with https://\n');
    expect(stderr).toContain('  LATCHKEY_LEASE_DURATION is no duration');
  });
});

describe('of @kubernetes/client-node the bundle', () => {
  const ofClient = () => inputs.filter((input) => input.includes('@kubernetes/client-node/'));

  it('holds what reads a kubeconfig, and no generated kind or group', () => {
    expect(ofClient()).toContain('node_modules/@kubernetes/client-node/dist/config.js');
    expect(ofClient().filter((input) => /\/gen\/(?:models|apis|types)\//.test(input))).toEqual([]);
    expect(ofClient().length).toBeLessThan(30);
  });

  it('has all that the base class of the operator needs to be constructed', async () => {
    const file = path.join(folder, 'base.mjs');
    await buildBundle(file, 'node_modules/@dot-i/k8s-operator/dist/operator.js');
    const script = `const { default: base } = await import('./base.mjs'); console.log(typeof new base.default().k8sApi);`;
    const { promise, resolve } = Promise.withResolvers<unknown>();
    execFile(process.execPath, ['--input-type=module', '--eval', script], { cwd: folder }, (error, stdout) =>
      resolve(error ?? stdout),
    );
    expect(await promise).toBe('object\n');
  });
});

describe('the licences of the bundle', () => {
  it('name every package in it once, and none that is a tool', () => {
    const folders = packageFolders(inputs);
    expect(folders).toEqual(expect.arrayContaining(['node_modules/pino', 'node_modules/prom-client']));
    expect(new Set(folders).size).toBe(folders.length);
    expect(folders).not.toContain('node_modules/vitest');
  });

  it('hold name, version and text', () => {
    expect(licenceTexts(['node_modules/prom-client'])).toMatch(
      /^prom-client 15\.1\.3 \(Apache-2\.0\)\n\n[\s\S]*Apache License/,
    );
  });

  it('find the folder of a scoped and of a nested package', () => {
    expect(
      packageFolders(['node_modules/@a/b/x.js', 'node_modules/c/node_modules/d/y.js', 'src/main.ts']),
    ).toEqual(['node_modules/@a/b', 'node_modules/c/node_modules/d']);
  });
});
