import { type DestinationStream, destination, type Level, pino, stdTimeFunctions } from 'pino';
import type { Logger } from '../logger.ts';
import { describeError } from './error-description.ts';
import { withoutNamedSecrets, withoutSecrets } from './redaction.ts';

export interface LogOptions {
  readonly level: Level;
  /** Keys on every line, such as the component. */
  readonly bindings?: Readonly<Record<string, string>>;
  /** Default: standard output, written before the call returns, so that the last line of a dying process is kept. */
  readonly output?: DestinationStream;
}

/** JSON lines. Secrets are taken out twice: by the name of their key, and by their shape in the finished line. */
export function createLogger({ level, bindings = {}, output }: LogOptions): Logger {
  const options = {
    level,
    base: withoutNamedSecrets({ ...bindings }),
    timestamp: stdTimeFunctions.isoTime,
    formatters: {
      level: (label: string) => ({ level: label }),
      log: withoutNamedSecrets,
    },
    serializers: { err: describeError, error: describeError },
    hooks: { streamWrite: withoutSecrets },
  };
  return pino(options, output ?? standardOutput());
}

/** Bytes that one write puts into a pipe as a whole: the audit log may write to the same one. */
const maxWrite = 4_096;
/** Of lines that wait; others are dropped. */
const maxLength = 2 ** 20;
const retryMs = 100;
/** At the end of the process: a reader that is only slow gets the lines that wait, and one that is away keeps no process. */
const endMs = 1_000;

/**
 * With the audit log on standard output, a pipe that no one reads takes no line. To wait for it here would keep the only thread, and with
 * it all requests.
 */
function standardOutput(): DestinationStream {
  let patientUntil = 0;
  const retryEAGAIN = () => performance.now() < patientUntil;
  const stream = destination({ dest: 1, sync: true, maxWrite, maxLength, retryEAGAIN });
  process.once('exit', () => {
    patientUntil = performance.now() + endMs;
    try {
      stream.flushSync();
    } catch {
      // No one reads.
    }
  });
  let isWaiting = false;
  const retry = () => {
    isWaiting = false;
    stream.write('');
  };
  stream.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code !== 'EAGAIN' || isWaiting) return;
    isWaiting = true;
    setTimeout(retry, retryMs).unref();
  });
  return stream;
}
