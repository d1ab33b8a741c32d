import fs, { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { vi } from 'vitest';

const openers = [
  'open',
  'openSync',
  'readFile',
  'readFileSync',
  'createReadStream',
  'accessSync',
  'statSync',
] as const;
const promised = ['open', 'readFile', 'access', 'stat'] as const;

/** Traps that notice that a command ran, that a file was opened, or that somebody connected. */
export class Traps {
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'traps-'));
  readonly #marker = path.join(this.#folder, 'ran');
  /** A file whose content must stay ours. */
  readonly file = path.join(this.#folder, 'secret');
  #opened = false;
  #connections = 0;
  #server: Server | undefined;

  async set(): Promise<this> {
    writeFileSync(this.file, 'OURSECRET');
    this.#spy(fs, openers);
    this.#spy(fs.promises, promised);
    syncBuiltinESMExports();
    const server = createServer((socket) => {
      this.#connections++;
      socket.on('error', () => undefined).destroy();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    this.#server = server;
    return this;
  }

  get port(): number {
    const address = this.#server?.address() as AddressInfo | undefined;
    return address?.port ?? 0;
  }

  /** Leaves a mark when it runs. */
  get command(): { command: string; args: string[] } {
    return { command: '/bin/sh', args: ['-c', `echo '{}' | tee ${this.#marker}`] };
  }

  /** All that was caught so far. */
  get caught(): { ran: boolean; opened: boolean; connections: number } {
    return { ran: existsSync(this.#marker), opened: this.#opened, connections: this.#connections };
  }

  async remove(): Promise<void> {
    vi.restoreAllMocks();
    syncBuiltinESMExports();
    await new Promise((resolve) => this.#server?.close(resolve));
    rmSync(this.#folder, { recursive: true });
  }

  #spy(target: object, names: readonly string[]): void {
    const functions = target as Record<string, (...args: unknown[]) => unknown>;
    for (const name of names) {
      const original = functions[name];
      vi.spyOn(functions, name).mockImplementation((...args) => {
        if (args[0] === this.file) this.#opened = true;
        return original?.apply(target, args);
      });
    }
  }
}
