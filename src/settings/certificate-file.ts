import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Parsed, SettingType } from './types.ts';

/** The certificates of a PEM file, read at once; undefined for `none`. `auto` stands for what the program knows by itself. */
export const certificateFile: SettingType<string | undefined> = {
  description: '`auto`, `none` or the absolute path of a PEM file',
  parse: (text) => {
    if (text === 'auto') return { value: text };
    if (text === 'none') return { value: undefined };
    return /^\/.{1,1023}$/.test(text)
      ? readCertificates(text)
      : { problem: 'must be `auto`, `none` or the absolute path of a PEM file' };
  },
};

function readCertificates(file: string): Parsed<string> {
  const certificates = readText(file)?.match(certificateBlock);
  if (certificates === undefined) return { problem: `names a file that cannot be read: ${file}` };
  if (certificates === null) return { problem: `names a file without certificates: ${file}` };
  return certificates.every(isCertificate)
    ? { value: `${certificates.join('\n')}\n` }
    : { problem: 'names a file with a certificate that cannot be read' };
}

/** Only these are kept: a private key that stands in the same file must not go into a kubeconfig. */
const certificateBlock = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

function isCertificate(block: string): boolean {
  try {
    return new X509Certificate(block).raw.length > 0;
  } catch {
    return false;
  }
}
