import { execFile } from 'node:child_process';
import { chmod, mkdir, rename } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { ProgramName } from '../versions.ts';
import { Downloader, type TimeLimits } from './fetch.ts';
import { type Release, releaseOf } from './releases.ts';
import { withHeartbeat } from './report.ts';
import { messageOf, type Source, type Workplace } from './source.ts';

const heartbeatMs = 10_000;

/** Downloads what the projects release. Each program counts only once its SHA-256 is the published one. */
export function downloads(limits?: TimeLimits): Source {
  return async (tools, place) => {
    const downloader = new Downloader(limits);
    try {
      const problems = await Promise.all(tools.map(async (tool) => await attempt(downloader, tool, place)));
      return problems.filter((problem) => problem !== undefined);
    } finally {
      await downloader.close();
    }
  };
}

async function attempt(
  downloader: Downloader,
  tool: ProgramName,
  place: Workplace,
): Promise<string | undefined> {
  try {
    await provide(downloader, tool, place);
    place.report(`downloaded ${tool}`);
    return undefined;
  } catch (error) {
    place.report(`cannot download ${tool}: ${messageOf(error)}`);
    return `download of ${tool}: ${messageOf(error)}`;
  }
}

async function provide(downloader: Downloader, tool: ProgramName, place: Workplace): Promise<void> {
  const release = releaseOf(tool, place.env);
  place.report(`downloading ${release.url}`);
  // The digest first: without one the program is of no use.
  const expected = digestFor(release, await downloader.text(release.digestUrl));
  const file = path.join(place.guard.folder, `${tool}.download`);
  let megabytes = 0;
  const transfer = downloader.toFile(release.url, file, (bytes) => {
    megabytes = Math.floor(bytes / 1_000_000);
  });
  const actual = await withHeartbeat(
    place.report,
    heartbeatMs,
    () => `${tool}: ${megabytes} MB so far`,
    transfer,
  );
  if (actual !== expected) {
    throw new Error(
      `${release.url} has SHA-256 ${actual}, but ${release.digestUrl} says ${expected}; refused`,
    );
  }
  await install(release, file, path.join(place.folder, tool));
}

/** Finds the digest in a file that holds it alone, or in lines of digest and name as sha256sum writes them. */
export function digestFor(release: Release, published: string): string {
  const name = path.posix.basename(new URL(release.url).pathname);
  const lines = published.split('\n').map((line) => line.trim().split(/\s+\*?/));
  const line = lines.find(([digest, file]) => digest !== '' && (file === undefined || file === name));
  const digest = line?.[0]?.toLowerCase() ?? '';
  if (!/^[0-9a-f]{64}$/.test(digest)) throw new Error(`${release.digestUrl} has no SHA-256 of ${name}`);
  return digest;
}

async function install(release: Release, file: string, target: string): Promise<void> {
  if (release.memberOfArchive === undefined) {
    await chmod(file, 0o755);
    return await rename(file, target);
  }
  const unpacked = `${file}.unpacked`;
  await mkdir(unpacked);
  // The tar of macOS reads zip archives too.
  await promisify(execFile)('tar', ['-xf', file, '-C', unpacked, release.memberOfArchive]);
  const program = path.join(unpacked, release.memberOfArchive);
  await chmod(program, 0o755);
  await rename(program, target);
}
