import { execFile } from 'node:child_process';
import { cp, mkdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { nodeKinds, sessionWorld } from '../e2e/gateway/session-world.ts';

const run = promisify(execFile);
const { world, paths, key, podIn } = await sessionWorld();
const { gateway, guard } = world;
const page = createServer((_, response) => response.end('a page'));
page.listen(0, '127.0.0.1');
afterAll(() => void page.close());
const port = () => String((page.address() as AddressInfo).port);
const limits = { timeout: 240_000 };

/** The official client for Python, from its registry. */
async function installPython(): Promise<string> {
  const folder = path.join(guard.folder, 'python');
  await run('pip', ['install', '--quiet', '--target', folder, 'kubernetes==37.0.2'], limits);
  return folder;
}

/** The program with the client of fabric8, compiled. Returns its class path. */
async function buildJava(): Promise<string> {
  const folder = path.join(guard.folder, 'java');
  await mkdir(folder);
  await cp(path.join(import.meta.dirname, 'java'), folder, { recursive: true });
  const list = path.join(folder, 'classpath');
  const goals = ['compile', 'dependency:build-classpath', `-Dmdep.outputFile=${list}`];
  await run('mvn', ['--quiet', '--batch-mode', ...goals], { ...limits, cwd: folder });
  const { stdout } = await run('cat', [list]);
  return `${path.join(folder, 'target/classes')}:${stdout.trim()}`;
}

const [python, classPath] = [await installPython(), await buildJava()];

const rows = Object.entries(paths).flatMap(([target, place]) =>
  nodeKinds.map((node) => ({ target, place, node })),
);

describe.each(rows)('in the target $target, to a node that $node,', ({ target, place, node }) => {
  const pod = podIn(target, node);

  it('the client for Python execs, forwards a port and watches', async () => {
    const program = path.join(import.meta.dirname, 'sessions.py');
    const args = [program, await gateway.kubeconfig(key, place), pod, port()];
    const { stdout } = await run('python3', args, { ...limits, env: { ...process.env, PYTHONPATH: python } });
    expect(JSON.parse(stdout)).toEqual({
      exec: ['out\n', 'problem\n', 3],
      input: 'typed\n',
      page: 'a page',
      watch: 'ADDED',
    });
  });

  it('the client of fabric8 execs, forwards a port and watches', async () => {
    const env = { ...process.env, KUBECONFIG: await gateway.kubeconfig(key, place) };
    const { stdout } = await run('java', ['-cp', classPath, 'Sessions', pod, port()], { ...limits, env });
    expect(stdout.trim().split('\t')).toEqual(['3 out problem', 'typed', 'a page', 'ADDED']);
  });
});
