import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { LatchkeyError } from '../../errors.ts';
import type { Clock } from '../../kube/clock.ts';
import { sleep } from '../../kube/sleep.ts';
import type { Logger } from '../../logger.ts';

/** PEM. */
export interface ServingCertificate {
  readonly cert: string;
  readonly key: string;
}

const recheckMs = 10_000;

/**
 * Reads `tls.crt` and `tls.key`, as in a Secret for TLS. Throws ERR_CERTIFICATE when they cannot be read, or do not belong together.
 */
export function readCertificate(folder: string): ServingCertificate {
  const [cert, key] = [path.join(folder, 'tls.crt'), path.join(folder, 'tls.key')];
  try {
    const pair = { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
    // OpenSSL takes empty files for no certificate at all, and then refuses every connection.
    if (!new X509Certificate(pair.cert).checkPrivateKey(createPrivateKey(pair.key))) throw new Error();
    return pair;
  } catch (error) {
    const { syscall, code } = error as NodeJS.ErrnoException;
    // Errors of OpenSSL may quote what they read.
    const cause = syscall !== undefined && code !== undefined ? code : 'not a pair of PEM files';
    throw new LatchkeyError('ERR_CERTIFICATE', { file: cert, cause });
  }
}

/** Why no client accepts the certificate at this time (epoch milliseconds). */
export function certificateProblem({ cert }: ServingCertificate, now: number): string | undefined {
  const { validFromDate, validToDate } = new X509Certificate(cert);
  if (now < validFromDate.getTime()) return `it is valid from ${validFromDate.toISOString()}`;
  return now > validToDate.getTime() ? `it ended at ${validToDate.toISOString()}` : undefined;
}

export interface CertificateReload {
  /** Where the pair stands. The kubelet puts a new one there while we run. */
  readonly folder: string;
  readonly current: ServingCertificate;
  readonly clock: Clock;
  readonly log: Logger;
  readonly onChange: (certificate: ServingCertificate) => void;
}

/** Passes on every new pair until the signal aborts. One that cannot be used leaves the former one in use. */
export async function followCertificate(reload: CertificateReload, signal: AbortSignal): Promise<void> {
  const { folder, clock, log, onChange } = reload;
  let { current } = reload;
  while (!signal.aborted) {
    await sleep(clock, recheckMs, signal);
    if (signal.aborted) return;
    try {
      const found = readCertificate(folder);
      if (found.cert === current.cert && found.key === current.key) continue;
      current = found;
      onChange(found);
      log.info({}, 'the serving certificate was replaced');
    } catch (error) {
      log.warn({ err: error }, 'the new serving certificate cannot be used; the former one stays');
    }
  }
}
