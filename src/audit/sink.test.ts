import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, readFileSync, readSync, renameSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import { memorySink } from '../../test/builders/audit-lines.ts';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { waitFor } from '../../test/fakes/wait-for.ts';
import type { Logger } from '../logger.ts';
import { FileOutput, StreamOutput } from './output.ts';
import type { AuditSink } from './sink.ts';

const folders: string[] = [];
const sinks: AuditSink[] = [];
afterEach(async () => {
  await Promise.all(sinks.splice(0).map((sink) => sink.close(0)));
  await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true })));
});

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'audit-'));
  folders.push(folder);
  return folder;
}

async function newPipe(): Promise<string> {
  const file = path.join(await newFolder(), 'pipe');
  execFileSync('mkfifo', [file]);
  return file;
}

type SinkOptions = Parameters<typeof memorySink>[0];

function newSink(options: SinkOptions) {
  const kept = memorySink(options);
  sinks.push(kept.sink);
  return kept;
}

/** Numbered, of a size. */
const line = (number: number, bytes = 500): string => `${String(number).padStart(bytes - 1, '0')}\n`;
const numbersIn = (text: string): readonly number[] => text.split('\n').slice(0, -1).map(Number);
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);

describe('the audit log', () => {
  it('writes lines in their order, many at a time, into a file that only its owner reads', async () => {
    const file = path.join(await newFolder(), 'log');
    const { sink, counts } = newSink({ output: new FileOutput(file) });
    for (const number of upTo(3_000)) expect(sink.write(line(number))).toBe(true);
    await waitFor('the lines', () => counts.written === 3_000);
    expect(numbersIn(readFileSync(file, 'utf8'))).toEqual(upTo(3_000));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(sink.stuckMs).toBe(0);
  });

  it('goes on in a new file when another program has renamed the old one', async () => {
    const folder = await newFolder();
    const [file, old] = ['log', 'log.1'].map((name) => path.join(folder, name)) as [string, string];
    const { sink, counts } = newSink({ output: new FileOutput(file) });
    sink.write(line(0));
    await waitFor('the line', () => counts.written === 1);
    renameSync(file, old);
    sink.reopen();
    sink.write(line(1));
    await waitFor('the other line', () => counts.written === 2);
    expect([old, file].map((name) => numbersIn(readFileSync(name, 'utf8')))).toEqual([[0], [1]]);
  });

  it('begins a new file with a whole line, when the old one broke off in the middle', async () => {
    const files: string[] = ['', ''];
    let current = 0;
    const output = {
      maxBytes: 4_096,
      write: async (bytes: Buffer) => {
        if (current === 0 && files[0] !== '') throw Object.assign(new Error('full'), { code: 'ENOSPC' });
        const taken = current === 0 ? 750 : bytes.length;
        files[current] += bytes.subarray(0, taken).toString();
        return taken;
      },
      close: async () => {
        current = 1;
      },
    };
    const { sink, counts } = newSink({ output });
    for (const number of upTo(3)) sink.write(line(number));
    await waitFor('the first part', () => files[0] !== '');
    sink.reopen();
    await waitFor('the lines', () => counts.written === 3);
    expect(files[1]).toBe(line(1) + line(2));
  });

  it('writes the lines of a tenth of a second at once, but no later than when a write is full', async () => {
    const clock = new FakeClock();
    const writes: number[] = [];
    const output = {
      maxBytes: 65_536,
      write: async ({ length }: Buffer) => {
        writes.push(length);
        return length;
      },
      close: async () => undefined,
    };
    const { sink, counts } = newSink({ clock, output });
    sink.write(line(0));
    await clock.advanceAsync(50);
    sink.write(line(1));
    await clock.advanceAsync(49);
    expect(counts.written).toBe(0);
    await clock.advanceAsync(1);
    await waitFor('both lines', () => counts.written === 2);
    for (const number of upTo(264)) sink.write(line(number));
    await waitFor('two writes that are full, and the rest', () => counts.written === 2 + 264);
    expect(writes).toEqual([2 * 500, 131 * 500, 131 * 500, 2 * 500]);
  });

  it('writes at once, beside all that waits, what a request waits for', async () => {
    const { sink, counts } = newSink({ clock: new FakeClock(), mode: 'require' });
    sink.write(line(0));
    expect(await sink.hold(line(1))).toBe(true);
    expect(counts.written).toBe(2);
  });

  it('writes what waits at its end', async () => {
    const { sink, text } = newSink({});
    for (const number of upTo(100)) sink.write(line(number));
    await sink.close(5_000);
    expect(numbersIn(text())).toEqual(upTo(100));
    expect([sink.write(line(100)), await sink.hold(line(100))]).toEqual([false, false]);
    expect(numbersIn(text())).toHaveLength(100);
  });
});

interface Trouble {
  readonly output: FileOutput | StreamOutput;
  /** Takes the trouble away, and reads all that comes then; undefined where nothing does. */
  readonly mend?: () => () => string;
}

const files: number[] = [];
afterEach(() => {
  for (const file of files.splice(0)) closeSync(file);
});

function opened(name: string, flags: number): number {
  const file = openSync(name, flags | constants.O_NONBLOCK);
  files.push(file);
  return file;
}

/** Reads what is there. */
function readerOf(file: number): () => string {
  let text = '';
  const buffer = Buffer.alloc(65_536);
  const readSome = () => {
    try {
      return readSync(file, buffer);
    } catch {
      return 0;
    }
  };
  return () => {
    for (let size = readSome(); size > 0; size = readSome()) text += buffer.toString('latin1', 0, size);
    return text;
  };
}

async function unreadPipe(): Promise<Trouble> {
  const name = await newPipe();
  const file = opened(name, constants.O_RDWR);
  return { output: new FileOutput(name), mend: () => readerOf(file) };
}

async function unopenedPipe(): Promise<Trouble> {
  const name = await newPipe();
  return { output: new FileOutput(name), mend: () => readerOf(opened(name, constants.O_RDONLY)) };
}

async function unreadStream(): Promise<Trouble> {
  const stream = new PassThrough({ highWaterMark: 1 });
  const mend = () => {
    let text = '';
    stream.on('data', (bytes: Buffer) => {
      text += bytes;
    });
    return () => text;
  };
  return { output: new StreamOutput(stream), mend };
}

const fullDisk = async (): Promise<Trouble> => ({ output: new FileOutput('/dev/full') });
const noFolder = async (): Promise<Trouble> => ({ output: new FileOutput('/no-such-folder/log') });

const troubles = [
  ['a pipe that no one reads', unreadPipe],
  ['a pipe that no one has opened', unopenedPipe],
  ['standard output that no one reads', unreadStream],
  ['a full disk', fullDisk],
  ['a folder that is not there', noFolder],
] as const;

const limits = { maxBytes: 200_000, maxHeld: 10, maxHeldMs: 300 };

describe.each(troubles)('with %s', (_, begin) => {
  it('in best effort it takes lines up to its bound and drops the others, and nothing waits', async () => {
    const { output, mend } = await begin();
    const { sink, counts } = newSink({ output, limits });
    const started = performance.now();
    const taken = upTo(5_000).filter((number) => sink.write(line(number)));
    // A write that waits for a reader would never be over.
    expect(performance.now() - started).toBeLessThan(20_000);
    expect(taken).toHaveLength(limits.maxBytes / 500);
    expect(counts.dropped).toBe(5_000 - taken.length);
    await waitFor('the trouble is seen', () => sink.stuckMs > 50);
    expect(sink.isBlocked).toBe(false);
    if (mend === undefined) return;
    const read = mend();
    await waitFor('all lines', () => read().length === limits.maxBytes);
    expect(numbersIn(read())).toEqual(taken);
    await waitFor('the end of the trouble', () => sink.stuckMs === 0);
  });

  it('where lines are required, so many requests wait at most, each for so long at most', async () => {
    const { output, mend } = await begin();
    const { sink } = newSink({ mode: 'require', output, limits });
    for (const number of upTo(limits.maxBytes / 500 - 20)) sink.write(line(number));
    await waitFor('the trouble', () => sink.stuckMs > 50);
    const started = performance.now();
    const answered: number[] = [];
    const held = upTo(12).map(async (number) => {
      const isWritten = await sink.hold(line(1_000 + number));
      answered.push(number);
      return isWritten;
    });
    expect(await Promise.all(held)).not.toContain(true);
    // Requests that may not wait have their answer before any time is up.
    expect(answered.slice(0, 2)).toEqual([10, 11]);
    expect(performance.now() - started).toBeGreaterThanOrEqual(limits.maxHeldMs - 1);
    expect(sink.isBlocked).toBe(true);
    if (mend === undefined) return;
    const read = mend();
    await waitFor('the lines before', () => read().length > 0 && sink.stuckMs === 0);
    let number = 2_000;
    // A busy machine may need longer for one line than a request waits.
    while (!(await sink.hold(line(number)))) number += 1;
    expect(sink.isBlocked).toBe(false);
    await waitFor('the line', () => read().endsWith(line(number)));
    expect(numbersIn(read()).filter((each) => each >= 1_000 && each < 2_000)).toEqual([]);
  });
});

it('lines of the log and of the audit log share a pipe that is read slowly, and none is torn', async () => {
  const script = `
    const { openOutput } = await import('${path.join(import.meta.dirname, 'output.ts')}');
    const { AuditSink } = await import('${path.join(import.meta.dirname, 'sink.ts')}');
    const { systemClock } = await import('${path.join(import.meta.dirname, '../kube/clock.ts')}');
    const { silentLogger } = await import('${path.join(import.meta.dirname, '../logger.ts')}');
    const { createLogger } = await import('${path.join(import.meta.dirname, '../telemetry/log.ts')}');
    const sink = new AuditSink({ mode: 'best-effort', output: openOutput('-'), clock: systemClock, log: silentLogger, count: () => undefined });
    const log = createLogger({ level: 'info' });
    for (let number = 0; number < 1_000; number += 1) {
      sink.write(JSON.stringify({ audit: number, text: 'a'.repeat(900) }) + '\\n');
      if (number % 3 === 0) log.info({ number }, 'a line');
      if (number % 10 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await sink.close(20_000);
  `;
  const file = path.join(await newFolder(), 'read');
  const slow = `${process.execPath} --input-type=module -e "$SCRIPT" | while IFS= read -r line; do echo "$line"; done > ${file}`;
  execFileSync('bash', ['-c', slow], { env: { ...process.env, SCRIPT: script } });
  const lines = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((text) => JSON.parse(text));
  expect(lines.map(({ audit }) => audit).filter((audit) => audit !== undefined)).toEqual(upTo(1_000));
  expect(lines.filter(({ msg }) => msg === 'a line')).toHaveLength(334);
});

it('a line that tells of what could not be stopped is taken also when there is no room', async () => {
  const { sink, counts } = newSink({ ...(await fullDisk()), mode: 'require', limits });
  for (const number of upTo(limits.maxBytes / 500)) sink.write(line(number));
  expect([sink.write(line(1)), sink.write(line(1), true), counts.dropped]).toEqual([false, true, 1]);
});

it('says once in the log that it cannot be written, and how many lines are lacking', async () => {
  const said: (readonly [string, object])[] = [];
  const say = (keys: object, message: string) => void said.push([message, keys]);
  const log: Logger = { debug: say, info: say, warn: say, error: say };
  let isFull = true;
  const output = {
    maxBytes: 4_096,
    write: async (bytes: Buffer) => {
      if (isFull) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
      return bytes.length;
    },
    close: async () => undefined,
  };
  const { sink, counts } = newSink({ output, log, limits: { ...limits, maxBytes: 1_000 } });
  for (const number of upTo(5)) sink.write(line(number));
  await waitFor('the trouble', () => said.length === 2);
  isFull = false;
  await waitFor('the lines', () => counts.written === 2 && said.length === 4);
  expect(said.map(([message]) => message)).toEqual([
    'the audit log takes too little: lines are dropped',
    'the audit log cannot be written, and is tried again each second',
    'the audit log is written again',
    'the audit log is written again, and lacks lines',
  ]);
  expect(said[3]?.[1]).toEqual({ dropped: 3 });
});
