type LogMethod = (keys: object, message: string) => void;

/** What this folder needs of a log; a pino logger fits. */
export interface Logger {
  readonly debug: LogMethod;
  readonly info: LogMethod;
  readonly warn: LogMethod;
  readonly error: LogMethod;
}

const ignore: LogMethod = () => undefined;

export const silentLogger: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };
