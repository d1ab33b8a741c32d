import { readFile } from 'node:fs/promises';
import { afterAll, describe, expect, inject, it } from 'vitest';
import { Guard } from '../../../lab/controlplane/guard.ts';
import { sharedControlPlane } from '../../../lab/controlplane/shared.ts';
import { currentProgram, runBundle } from '../../../lab/operator/program.ts';

const plane = await sharedControlPlane();
const guard = await Guard.start('settings');
runBundle(inject('bundle'));
const program = currentProgram();
let processes = 0;

afterAll(async () => await guard.stop());

/** Runs the operator until it ends by itself. An empty setting counts as given, so it is not in the environment at all. */
const run = async (env: Readonly<Record<string, string>>) => {
  processes += 1;
  const { exited, logPath } = await guard.run({
    name: `operator-${processes}`,
    command: process.execPath,
    args: [program.file, 'operator'],
    env: { ...program.env, KUBECONFIG: plane.adminKubeconfig, ...local, ...env },
  });
  return { exitCode: await exited, text: await readFile(logPath, 'utf8') };
};

const local = { LATCHKEY_HEALTH_ADDRESS: '127.0.0.1:0', LATCHKEY_METRICS_ADDRESS: '127.0.0.1:0' };
const baseURL = { LATCHKEY_BASE_URL: 'https://latchkey.example.com' };

describe('the operator with settings that are not usable ends with exit code 2 and says', () => {
  it('which one is missing', async () => {
    expect(await run({})).toEqual({
      exitCode: 2,
      text: [
        'latchkey: the settings are not usable:',
        '  LATCHKEY_BASE_URL is required: set it to a value (https URL without trailing slash)',
        'Each line names a variable and what to write. docs/reference/settings.md lists all of them.',
        '',
      ].join('\n'),
    });
  });

  it('all that is wrong at once', async () => {
    const { exitCode, text } = await run({
      LATCHKEY_BASE_URL: 'http://latchkey.example.com',
      LATCHKEY_LOG_LEVEL: 'loud',
      LATCHKEY_EXPIRY_WRITES_PER_SECOND: '0',
      LATCHKEY_LEASE_DURATION: '15',
      LATCHKEY_MAX_TOKEN_TTL: '',
      LATCHKEY_TARGETS_RECHECK: '30s',
      LATCHKEY_CONCURRENCY: '32',
    });
    expect(exitCode).toBe(2);
    const lines = text.split('\n').filter((line) => line.startsWith('  '));
    expect(lines).toEqual([
      '  LATCHKEY_BASE_URL must begin with https://',
      '  LATCHKEY_LOG_LEVEL must be one of trace, debug, info, warn, error, fatal',
      '  LATCHKEY_LEASE_DURATION is no duration: write it like 30s, 10m, 720h or 30d',
      '  LATCHKEY_MAX_TOKEN_TTL is set but empty: give it a value or remove it',
      '  LATCHKEY_EXPIRY_WRITES_PER_SECOND must be a whole number from 1 to 10000',
      '  LATCHKEY_CONCURRENCY is no setting any more: remove it; it is 16; give the operator more CPU',
      '  LATCHKEY_TARGETS_RECHECK is no setting: correct it to LATCHKEY_TARGET_RECHECK, which is the nearest, or remove it',
    ]);
  });

  it('that the kubeconfig is not there', async () => {
    const { exitCode, text } = await run({ ...baseURL, KUBECONFIG: '/nowhere/kubeconfig' });
    expect(exitCode).toBe(2);
    expect(text).toMatch(/^latchkey: cannot use the kubeconfig: .*\/nowhere\/kubeconfig/m);
    expect(text).toContain('Set KUBECONFIG to a readable file with a current context');
  });
});

describe('the operator under another account than its own', () => {
  it('ends with exit code 1, names both accounts and writes nothing', async () => {
    const { exitCode, text } = await run(baseURL);
    expect(exitCode).toBe(1);
    expect(text).toContain(
      'the operator must run as system:serviceaccount:latchkey-system:latchkey-operator, not as platform-admin',
    );
    expect(text).toContain('Run `kubectl apply -k config/default` with the same release');
    expect(text).not.toContain('"leading"');
  });
});
