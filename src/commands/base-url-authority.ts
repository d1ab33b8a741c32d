import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { LatchkeyError } from '../errors.ts';
import type { Settings } from '../settings.ts';

/**
 * The certificate authority of the base URL as PEM, or undefined where clients trust it anyway. Throws
 * `ERR_SETTINGS_INVALID` for a file that is not there or holds no certificates.
 */
export function readBaseURLAuthority({ baseURLAuthorityFile }: Settings): string | undefined {
  if (baseURLAuthorityFile === 'none') return undefined;
  const certificates = certificatesIn(readText(baseURLAuthorityFile));
  if (certificates.length === 0) throw unusable(`names a file without certificates: ${baseURLAuthorityFile}`);
  return `${certificates.join('\n')}\n`;
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw unusable(`names a file that cannot be read: ${file}`);
  }
}

/** Only these are kept: a private key that stands in the same file must not go into a kubeconfig. */
function certificatesIn(text: string): readonly string[] {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return blocks.filter(isCertificate);
}

function isCertificate(block: string): boolean {
  try {
    return new X509Certificate(block).raw.length > 0;
  } catch {
    throw unusable('names a file with a certificate that cannot be read');
  }
}

function unusable(problem: string): LatchkeyError {
  return new LatchkeyError('ERR_SETTINGS_INVALID', { problems: `  LATCHKEY_BASE_URL_CA_FILE ${problem}` });
}
