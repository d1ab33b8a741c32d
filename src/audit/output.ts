import { close, constants, fstat, fstatSync, open, write } from 'node:fs';
import type { Writable } from 'node:stream';
import { promisify } from 'node:util';
import { maxLineBytes } from './line.ts';

/** Where lines go. One write at a time. */
export interface AuditOutput {
  /** Bytes of one write. A pipe takes so many as a whole or not at all, so that no other writer comes between. */
  readonly maxBytes: number;
  /** Resolves with how many bytes were taken; rejects when it takes none now. */
  write(bytes: Buffer): Promise<number>;
  /** The next write opens it again. */
  close(): Promise<void>;
}

const openFile = promisify(open);
const closeFile = promisify(close);
const statFile = promisify(fstat);
const writeFile = promisify(write);

/** Without `O_NONBLOCK` a pipe that no one reads would keep a thread of Node for ever, also at its end. */
const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK } = constants;
const maxFileBytes = 262_144;

/** A file, or a pipe with a name. It is opened at the first write, and only then can be missing. */
export class FileOutput implements AuditOutput {
  maxBytes = maxLineBytes;
  readonly #path: string;
  #file: number | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  async write(bytes: Buffer): Promise<number> {
    this.#file ??= await this.#open();
    return (await writeFile(this.#file, bytes)).bytesWritten;
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    if (file !== undefined) await closeFile(file);
  }

  async #open(): Promise<number> {
    const file = await openFile(this.#path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, 0o600);
    this.maxBytes = (await statFile(file)).isFile() ? maxFileBytes : maxLineBytes;
    return file;
  }
}

/** Standard output that is a pipe, a socket or a terminal: a write that waits keeps no thread. */
export class StreamOutput implements AuditOutput {
  readonly maxBytes = maxLineBytes;
  readonly #stream: Writable;

  constructor(stream: Writable) {
    this.#stream = stream;
    // The error of a reader that has gone would end the process.
    stream.on('error', () => undefined);
  }

  async write(bytes: Buffer): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#stream.write(bytes, (error) => (error ? reject(error) : resolve()));
    await promise;
    return bytes.length;
  }

  async close(): Promise<void> {}
}

/** Standard output that was sent to a file. Node would write to it on the main thread. */
class StandardFile implements AuditOutput {
  readonly maxBytes = maxFileBytes;

  async write(bytes: Buffer): Promise<number> {
    return (await writeFile(standardOutput, bytes)).bytesWritten;
  }

  async close(): Promise<void> {}
}

const standardOutput = 1;
/** In place of a path. */
const standardOutputName = '-';

export function openOutput(path: string): AuditOutput {
  if (path !== standardOutputName) return new FileOutput(path);
  return fstatSync(standardOutput).isFile() ? new StandardFile() : new StreamOutput(process.stdout);
}
