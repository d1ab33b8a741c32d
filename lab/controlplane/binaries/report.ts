/** Tells the user what is going on, a line each. */
export type Report = (text: string) => void;

/** Writes lines with the seconds since it was made to standard error. */
export function reportOnStderr(): Report {
  const start = performance.now();
  return (text) => {
    const seconds = Math.round((performance.now() - start) / 1000);
    process.stderr.write(`control plane: ${text} (${seconds} s)\n`);
  };
}

/** Reports a line now and then while the work lasts, so that no one takes it for dead. */
export async function withHeartbeat<T>(
  report: Report,
  intervalMs: number,
  text: () => string | Promise<string>,
  work: Promise<T>,
): Promise<T> {
  const beat = async (): Promise<void> => report(await text());
  const timer = setInterval(() => void beat().catch(() => undefined), intervalMs);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}
