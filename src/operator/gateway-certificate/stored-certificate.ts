import { createPrivateKey, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { group, systemObjects } from '../../api/names.ts';
import type { CertificatePair } from '../../credentials/certificates/serving-certificate.ts';

export const authorityName = { organization: group, commonName: systemObjects.gatewayAuthority };
const authoritySubject = `O=${authorityName.organization}\nCN=${authorityName.commonName}`;

/** The content of the Secret with the certificate of the gateway, as text. It may be anything: people can write to Secrets. */
export interface StoredServing extends CertificatePair {
  /** Whether the operator made the Secret. */
  readonly isOurs: boolean;
  /** PEM of the authorities beside the certificate, else empty. */
  readonly ca: string;
}

/** The content of the Secret of the authority, likewise. What is not there is empty. */
export interface StoredAuthority extends CertificatePair {
  readonly isOurs: boolean;
  /** Signs when this one can sign no more. */
  readonly next: CertificatePair;
  /** The certificate of the one that signed before. */
  readonly former: string;
}

/** Undefined when the two do not belong together, or cannot be read. */
export function readPair({ certificate, privateKey }: CertificatePair): X509Certificate | undefined {
  const read = readCertificate(certificate);
  try {
    return read?.checkPrivateKey(createPrivateKey(privateKey)) === true ? read : undefined;
  } catch {
    return undefined;
  }
}

export function readCertificate(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}

/** Undefined unless it is one that the operator made, and can sign. */
export function readAuthority(pair: CertificatePair): X509Certificate | undefined {
  const read = readPair(pair);
  return read !== undefined && isAuthority(read) ? read : undefined;
}

function isAuthority({ ca, subject, publicKey }: X509Certificate): boolean {
  return ca && subject === authoritySubject && publicKey.asymmetricKeyDetails?.namedCurve === 'prime256v1';
}

/**
 * Whether the certificate is the business of someone else. A tool that writes certificates into a Secret that is there already
 * leaves our label on it, so what works and was not signed by us counts as given, whatever the label says.
 */
export function isOfSite(serving: StoredServing): boolean {
  const present = readPair(serving);
  return !serving.isOurs || (present !== undefined && present.issuer !== authoritySubject);
}

export const isFor = (certificate: X509Certificate, host: string): boolean =>
  (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined;
