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
  return pino(options, output ?? destination({ dest: 1, sync: true }));
}
