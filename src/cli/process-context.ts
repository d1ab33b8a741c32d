import { execFile } from 'node:child_process';
import { writeSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import type { Context, ProgramResult } from './shared/context.ts';

/** Longer than any answer of a program that is run here. */
const maxOutput = 256 * 2 ** 20;

/** The environment of a command in this process. Call `end` when the command is done. */
export function processContext(): { readonly context: Context; readonly end: () => void } {
  const controller = new AbortController();
  const stop = () => controller.abort();
  process.once('SIGINT', stop).once('SIGTERM', stop);
  // The reader of a pipe may leave early, as `head` does.
  process.stdout.on('error', () => controller.abort());
  const { env, platform, ppid, stdin, stdout, stderr } = process;
  return {
    context: {
      env,
      platform,
      ppid,
      stdin: { isTTY: stdin.isTTY === true, read: async () => await text(stdin) },
      stdout: { isTTY: stdout.isTTY === true, write: (part) => void stdout.write(part) },
      stderr: { isTTY: stderr.isTTY === true, write: (part) => void writeSync(2, part) },
      now: Date.now,
      send: async (request) => await (await import('./gateway/transport.ts')).sendOverHTTPS(request),
      run: runProgram,
      signal: controller.signal,
    },
    end: () => void process.off('SIGINT', stop).off('SIGTERM', stop),
  };
}

async function runProgram(program: string, args: readonly string[], input = ''): Promise<ProgramResult> {
  const { promise, resolve, reject } = Promise.withResolvers<ProgramResult>();
  const child = execFile(program, args, { maxBuffer: maxOutput }, (error, stdout, stderr) => {
    if (error === null) return resolve({ code: 0, stdout, stderr });
    return typeof error.code === 'number' ? resolve({ code: error.code, stdout, stderr }) : reject(error);
  });
  child.stdin?.on('error', () => undefined).end(input);
  return await promise;
}
