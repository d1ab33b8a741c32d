import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { LatchkeyError } from '../../errors.ts';
import type { Clock } from '../../kube/clock.ts';
import { sleep } from '../../kube/sleep.ts';
import type { Logger } from '../../logger.ts';

/** PEM. */
export interface ServingCertificate {
  readonly cert: string;
  readonly key: string;
}

/** Where the pair stands. The kubelet puts a new one there while we run. */
export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

const recheckMs = 10_000;

/** Throws ERR_CERTIFICATE when the files cannot be read, or do not belong together. */
export function readCertificate({ certFile, keyFile }: CertificateFiles): ServingCertificate {
  try {
    const pair = { cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') };
    // OpenSSL takes empty files for no certificate at all, and then refuses every connection.
    if (!new X509Certificate(pair.cert).checkPrivateKey(createPrivateKey(pair.key))) throw new Error();
    return pair;
  } catch (error) {
    const { syscall, code } = error as NodeJS.ErrnoException;
    // Errors of OpenSSL may quote what they read.
    const cause = syscall !== undefined && code !== undefined ? code : 'not a pair of PEM files';
    throw new LatchkeyError('ERR_CERTIFICATE', { file: certFile, cause });
  }
}

/** Why no client accepts the certificate at this time (epoch milliseconds). */
export function certificateProblem({ cert }: ServingCertificate, now: number): string | undefined {
  const { validFromDate, validToDate } = new X509Certificate(cert);
  if (now < validFromDate.getTime()) return `it is valid from ${validFromDate.toISOString()}`;
  return now > validToDate.getTime() ? `it ended at ${validToDate.toISOString()}` : undefined;
}

export interface CertificateReload {
  readonly files: CertificateFiles;
  readonly current: ServingCertificate;
  readonly clock: Clock;
  readonly log: Logger;
  readonly onChange: (certificate: ServingCertificate) => void;
}

/** Passes on every new pair until the signal aborts. One that cannot be used leaves the former one in use. */
export async function followCertificate(reload: CertificateReload, signal: AbortSignal): Promise<void> {
  const { files, clock, log, onChange } = reload;
  let { current } = reload;
  while (!signal.aborted) {
    await sleep(clock, recheckMs, signal);
    if (signal.aborted) return;
    try {
      const found = readCertificate(files);
      if (found.cert === current.cert && found.key === current.key) continue;
      current = found;
      onChange(found);
      log.info({}, 'the serving certificate was replaced');
    } catch (error) {
      log.warn({ err: error }, 'the new serving certificate cannot be used; the former one stays');
    }
  }
}
