type LogMethod = (keys: object, message: string) => void;

/** The log as every part gets it. Without `child`: the bindings of a child would not pass the redaction by name. */
export interface Logger {
  readonly debug: LogMethod;
  readonly info: LogMethod;
  readonly warn: LogMethod;
  readonly error: LogMethod;
}

const ignore: LogMethod = () => undefined;

export const silentLogger: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };
