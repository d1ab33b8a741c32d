import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { etcdVersion, type ProgramName, toolNames } from '../versions.ts';
import { releaseOf } from './releases.ts';

/** A stand-in for the download hosts, on loopback, that publishes small shell scripts as the four programs. */
export class ReleaseServer {
  readonly requests: string[] = [];
  /** By file name: what to do in place of a good answer. */
  readonly faults = new Map<string, (response: ServerResponse, content: Buffer) => void>();
  readonly #files = new Map<string, Buffer>();
  readonly #server: Server;

  static async start(): Promise<ReleaseServer> {
    const releases = new ReleaseServer();
    releases.#server.listen(0, '127.0.0.1');
    await once(releases.#server, 'listening');
    for (const tool of [...toolNames, 'older-kubectl'] as const) releases.#publish(tool);
    return releases;
  }

  private constructor() {
    const answer: RequestListener = (request, response) => this.#answer(request.url ?? '', response);
    this.#server = createServer(answer);
  }

  get address(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the server does not listen');
    return `http://127.0.0.1:${address.port}`;
  }

  /** Makes both kinds of downloads come from here. */
  get env(): Record<string, string> {
    return {
      CONTROLPLANE_KUBERNETES_DOWNLOADS: `${this.address}/release`,
      CONTROLPLANE_ETCD_DOWNLOADS: `${this.address}/etcd/`,
    };
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #publish(tool: ProgramName): void {
    const release = releaseOf(tool, this.env);
    const program = programOf(tool);
    const content =
      release.memberOfArchive === undefined ? program : archive(release.memberOfArchive, program);
    const digest = createHash('sha256').update(content).digest('hex');
    const name = path.posix.basename(release.url);
    const list = `${'0'.repeat(64)}  etcd-v${etcdVersion}-plan9-mips.tar.gz\n${digest}  ${name}\n`;
    this.#files.set(new URL(release.url).pathname, content);
    this.#files.set(new URL(release.digestUrl).pathname, Buffer.from(tool === 'etcd' ? list : digest));
  }

  #answer(url: string, response: ServerResponse): void {
    this.requests.push(url);
    const content = this.#files.get(url);
    const fault = this.faults.get(path.posix.basename(url));
    if (content === undefined) return void response.writeHead(404).end();
    if (fault !== undefined) return fault(response, content);
    response.end(content);
  }
}

/** Builds the program as the server publishes it. */
export function programOf(tool: ProgramName): Buffer {
  return Buffer.from(`#!/bin/sh\necho "${tool} of the release"\n`);
}

function archive(member: string, content: Buffer): Buffer {
  const folder = mkdtempSync(path.join(tmpdir(), 'latchkey-archive-'));
  mkdirSync(path.join(folder, path.dirname(member)));
  writeFileSync(path.join(folder, member), content);
  execFileSync('tar', ['-czf', 'archive', path.dirname(member)], { cwd: folder });
  const archived = readFileSync(path.join(folder, 'archive'));
  rmSync(folder, { recursive: true });
  return archived;
}
