import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock, Timer } from '../kube/clock.ts';
import { sleep } from '../kube/sleep.ts';
import type { Logger } from '../logger.ts';
import type { AuditOutput } from './output.ts';

export type AuditMode = 'best-effort' | 'require';

export interface AuditSinkOptions {
  readonly mode: AuditMode;
  readonly output: AuditOutput;
  readonly clock: Clock;
  readonly log: Logger;
  /** Told how many lines were written, or dropped because there was no room for them. */
  readonly count: (outcome: 'written' | 'dropped', lines: number) => void;
  readonly limits?: AuditLimits;
}

export interface AuditLimits {
  /** Of lines that wait to be written. */
  readonly maxBytes: number;
  /** Requests at once that wait until their line is written. */
  readonly maxHeld: number;
  /** For each of them. */
  readonly maxHeldMs: number;
}

export const auditLimits: AuditLimits = { maxBytes: 8 * 2 ** 20, maxHeld: 1_024, maxHeldMs: 5_000 };

/** Lines that are written together, or one that a request waits for. */
interface Waiting {
  text: string;
  lines: number;
  readonly onWritten?: () => void;
}

/** Between two tries, milliseconds: a pipe has room soon, a disk has not. */
const pauses = { pipe: 25, other: 1_000 };
/** Waking the thread that writes costs as much as a dozen lines do, so the lines of so many milliseconds are written together. */
const gatherMs = 100;
const lineEnd = 0x0a;
const nothing = (): void => undefined;
/** Of lines that are gathered no longer. One line is always shorter. */
const urgentBytes = 131_072;
/** Lines that are put together as they come take half the time to copy. V8 keeps texts of twice this size apart, which takes longer. */
const maxGroupBytes = 65_536;
/** To hand them to the thread that writes takes as long for many as for few. */
const maxWriteBytes = 262_144;

/** Takes lines without waiting, and writes them in the order in which they came. */
export class AuditSink {
  readonly #options: AuditSinkOptions;
  readonly #limits: AuditLimits;
  /** For what is being written: one write at a time. */
  readonly #buffer = Buffer.alloc(maxWriteBytes);
  #lines: Waiting[] = [];
  #bytes = 0;
  #held = 0;
  /** The last progress, monotonic. */
  #since = 0;
  #isWriting = false;
  #isReopening = false;
  #hasTrouble = false;
  #dropped = 0;
  readonly #ended = new AbortController();
  #wake = new AbortController();
  #endGathering: () => void = nothing;
  #onEmpty: () => void = () => undefined;

  constructor(options: AuditSinkOptions) {
    this.#options = options;
    this.#limits = options.limits ?? auditLimits;
  }

  get isRequired(): boolean {
    return this.#options.mode === 'require';
  }

  /** For how long lines have waited without any progress, milliseconds. */
  get stuckMs(): number {
    return this.#isWriting ? this.#options.clock.monotonic() - this.#since : 0;
  }

  /** Whether what must not go on without its line has to stop: lines are required, and are not written. */
  get isBlocked(): boolean {
    return this.isRequired && (this.#bytes > this.#limits.maxBytes || this.stuckMs > this.#limits.maxHeldMs);
  }

  /** False: there was no room, and it is dropped. `always`: what it tells of could not be stopped any more; such lines have a bound of their own. */
  write(line: string, always = false): boolean {
    const isFull = !always && this.#bytes + line.length > this.#limits.maxBytes;
    if (isFull || this.#ended.signal.aborted) {
      this.#drop();
      return false;
    }
    const last = this.#lines.at(-1);
    if (
      last !== undefined &&
      last.onWritten === undefined &&
      last.text.length + line.length <= this.#maxGroupBytes
    ) {
      last.text += line;
      last.lines += 1;
      this.#added(line);
    } else this.#add({ text: line, lines: 1 });
    return true;
  }

  /** For what must not go on before its line is written. False: it was not, in time. */
  async hold(line: string): Promise<boolean> {
    const { maxBytes, maxHeld, maxHeldMs } = this.#limits;
    if (this.#held >= maxHeld || this.#bytes + line.length > maxBytes) return false;
    if (this.#ended.signal.aborted) return false;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const waiting: Waiting = { text: line, lines: 1, onWritten: () => resolve(true) };
    const timer: Timer = this.#options.clock.setTimer(() => {
      this.#takeBack(waiting);
      resolve(false);
    }, maxHeldMs);
    this.#held += 1;
    this.#add(waiting);
    const isWritten = await promise;
    this.#held -= 1;
    timer.cancel();
    return isWritten;
  }

  /** Opens the file again, under whatever name another program has given it. */
  reopen(): void {
    this.#isReopening = true;
    this.#endGathering();
    this.#wake.abort();
  }

  /** Writes what waits, for so long at most. Lines that come later are dropped. */
  async close(graceMs: number): Promise<void> {
    const { clock, output } = this.#options;
    if (this.#bytes > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = clock.setTimer(resolve, graceMs);
      this.#onEmpty = resolve;
      this.#endGathering();
      this.#wake.abort();
      await promise;
      timer.cancel();
    }
    this.#ended.abort();
    this.#wake.abort();
    if (!this.#isWriting) await output.close();
    this.#options.count(
      'dropped',
      this.#lines.reduce((sum, { lines }) => sum + lines, 0),
    );
    this.#lines = [];
    this.#bytes = 0;
  }

  #add(waiting: Waiting): void {
    this.#lines.push(waiting);
    this.#added(waiting.text);
  }

  #added(text: string): void {
    this.#bytes += text.length;
    if (this.#isUrgent) this.#endGathering();
    if (this.#isWriting) return;
    this.#isWriting = true;
    this.#since = this.#options.clock.monotonic();
    void this.#writeAll();
  }

  get #maxGroupBytes(): number {
    return Math.min(maxGroupBytes, this.#options.output.maxBytes);
  }

  /** There is enough for a write, or a request waits for its line. */
  get #isUrgent(): boolean {
    return this.#held > 0 || this.#bytes >= urgentBytes;
  }

  #takeBack(waiting: Waiting): void {
    this.#bytes -= waiting.text.length;
    waiting.text = '';
    waiting.lines = 0;
  }

  #drop(): void {
    const { count, log } = this.#options;
    count('dropped', 1);
    this.#dropped += 1;
    if (this.#dropped === 1) log.warn({}, 'the audit log takes too little: lines are dropped');
  }

  async #writeAll(): Promise<void> {
    const { signal } = this.#ended;
    while (this.#lines.length > 0 && !signal.aborted) {
      await this.#gather();
      let left = this.#lines.length;
      while (left > 0 && !signal.aborted) left -= await this.#writeSome();
    }
    this.#isWriting = false;
    if (signal.aborted) return void (await this.#options.output.close().catch(() => undefined));
    this.#reportDropped();
    this.#onEmpty();
  }

  async #gather(): Promise<void> {
    if (!this.#isUrgent) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = this.#options.clock.setTimer(resolve, gatherMs);
      this.#endGathering = resolve;
      await promise;
      this.#endGathering = nothing;
      timer.cancel();
    }
    // Requests of the same turn of the event loop are held for one write.
    await nextTurn();
  }

  #reportDropped(): void {
    if (this.#dropped > 0)
      this.#options.log.warn({ dropped: this.#dropped }, 'the audit log is written again, and lacks lines');
    this.#dropped = 0;
  }

  /** How many lines: none only at the end. */
  async #writeSome(): Promise<number> {
    const taken = this.#take();
    let size = 0;
    for (const { text } of taken) size += this.#buffer.write(text, size, 'latin1');
    if (!(await this.#writeBytes(this.#buffer.subarray(0, size)))) return 0;
    let written = 0;
    for (const { text, lines, onWritten } of taken) {
      written += lines;
      this.#bytes -= text.length;
      if (lines > 0) onWritten?.();
    }
    this.#options.count('written', written);
    return taken.length;
  }

  /** As many as one write takes, one at least. */
  #take(): readonly Waiting[] {
    let [count, bytes] = [1, this.#lines[0]?.text.length ?? 0];
    const maxBytes = Math.min(maxWriteBytes, this.#options.output.maxBytes);
    for (; count < this.#lines.length; count += 1) {
      bytes += this.#lines[count]?.text.length ?? 0;
      if (bytes > maxBytes) break;
    }
    return this.#lines.splice(0, count);
  }

  /** False: it ended before. */
  async #writeBytes(bytes: Buffer): Promise<boolean> {
    const { output, clock } = this.#options;
    for (let done = 0; done < bytes.length; ) {
      if (this.#isReopening) done = await this.#reopen(bytes, done);
      try {
        done += await output.write(bytes.subarray(done));
        this.#since = clock.monotonic();
        this.#recover();
      } catch (error) {
        await this.#pause(error as NodeJS.ErrnoException);
      }
      if (this.#ended.signal.aborted) return false;
    }
    return true;
  }

  /** The new file begins with a whole line. */
  async #reopen(bytes: Buffer, done: number): Promise<number> {
    this.#isReopening = false;
    await this.#options.output.close().catch(() => undefined);
    return done === 0 ? 0 : bytes.lastIndexOf(lineEnd, done - 1) + 1;
  }

  async #pause(error: NodeJS.ErrnoException): Promise<void> {
    const { clock, log, output } = this.#options;
    const isFull = error.code === 'EAGAIN';
    if (!isFull && !this.#hasTrouble) {
      this.#hasTrouble = true;
      log.error({ err: error }, 'the audit log cannot be written, and is tried again each second');
    }
    // A reader that comes back to a pipe is another one. On a full disk the line goes on where it broke off.
    if (!isFull && error.code !== 'ENOSPC') await output.close().catch(() => undefined);
    await sleep(clock, isFull ? pauses.pipe : pauses.other, this.#wake.signal);
    if (this.#wake.signal.aborted) this.#wake = new AbortController();
  }

  #recover(): void {
    if (this.#hasTrouble) this.#options.log.info({}, 'the audit log is written again');
    this.#hasTrouble = false;
  }
}
