import { hash, type KeyObject, X509Certificate } from 'node:crypto';
import forge from 'node-forge';
import { distinguishedName } from './distinguished-name.ts';

export interface ExpectedCertificate {
  /** `CN` and `O`. */
  readonly subject: string;
  readonly publicKey: KeyObject;
  /** Epoch milliseconds. */
  readonly now: number;
}

export interface IssuedCertificate {
  /** PEM: the certificate, then those of the authorities below the root, if the signer sent any. Nothing else of what it sent. */
  readonly certificate: string;
  /** Epoch milliseconds. */
  readonly notAfter: number;
  /** SHA-256 of the certificate's DER, 64 lower-case hex characters. */
  readonly hash: string;
}

const { asn1 } = forge;

const maxBytes = 64 * 1024;
const clientAuth = '1.3.6.1.5.5.7.3.2';
const blocks = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]*-----END CERTIFICATE-----/g;

/**
 * Reads what a signer issued and accepts it only when it is the certificate that we asked for. The signer belongs to a virtual cluster
 * whose administrators are strangers to us: the problem is a constant sentence and nothing of the certificate stands in it. Never throws.
 */
export function readIssuedCertificate(
  pem: string,
  expected: ExpectedCertificate,
): IssuedCertificate | { readonly problem: string } {
  if (pem.length > maxBytes) return { problem: 'the issued certificate is larger than 64 KiB' };
  try {
    const [leaf, ...authorities] = (pem.match(blocks) ?? []).map((block) => new X509Certificate(block));
    if (leaf === undefined) return { problem: 'the signer issued no PEM certificate' };
    const problem = certificateProblem(leaf, expected);
    if (problem !== undefined) return { problem };
    return {
      certificate: [leaf, ...authorities].map(String).join(''),
      notAfter: leaf.validToDate.getTime(),
      hash: hash('sha256', leaf.raw, 'hex'),
    };
  } catch {
    return { problem: 'the issued certificate cannot be read' };
  }
}

function certificateProblem(
  leaf: X509Certificate,
  { subject, publicKey, now }: ExpectedCertificate,
): string | undefined {
  if (!hasSubject(leaf, subject)) return 'the issued certificate has another subject than the request';
  if (!leaf.publicKey.equals(publicKey)) return 'the issued certificate is for another key than the request';
  if (leaf.ca) return 'the issued certificate is that of an authority';
  if (!usagesOf(leaf).includes(clientAuth)) return 'the issued certificate is not for client authentication';
  if (!(leaf.validToDate.getTime() > now)) return 'the issued certificate has expired';
  return undefined;
}

/** Compares bytes. A printed name shows two attributes and one that holds a comma or a newline in the same way. */
function hasSubject(leaf: X509Certificate, subject: string): boolean {
  const found = readSubject(leaf.raw);
  const name = { commonName: subject, organization: subject };
  return (['shortest', 'utf8'] as const).some(
    (encoding) => found === asn1.toDer(distinguishedName(name, encoding)).getBytes(),
  );
}

/** The subject's DER as a binary string. Throws for what is not the DER of a certificate of version 3. */
function readSubject(der: Buffer): string | undefined {
  const [body] = partsOf(asn1.fromDer(der.toString('latin1')));
  const [version, _serialNumber, _algorithm, _issuer, _validity, subject] = partsOf(body);
  if (version?.tagClass !== asn1.Class.CONTEXT_SPECIFIC || subject === undefined) return undefined;
  return asn1.toDer(subject).getBytes();
}

const partsOf = (value: forge.asn1.Asn1 | undefined): readonly forge.asn1.Asn1[] =>
  Array.isArray(value?.value) ? value.value : [];

/** OIDs of the extended key usage; none when the certificate does not have that extension. */
const usagesOf = (leaf: X509Certificate): readonly string[] => (leaf.keyUsage as string[] | undefined) ?? [];
