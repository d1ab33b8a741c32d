import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hash,
  type KeyObject,
  sign,
} from 'node:crypto';
import forge from 'node-forge';
import { parseAddress } from '../../cidr.ts';
import { bitString, encodeDer, objectIdentifier, pem, sequence } from './der.ts';
import { type CertificateName, distinguishedName } from './distinguished-name.ts';

/** A certificate and its key on P-256. */
export interface CertificatePair {
  /** PEM. */
  readonly certificate: string;
  /** PKCS #8 in PEM: a secret. */
  readonly privateKey: string;
}

/** Epoch milliseconds, of which whole seconds count. */
export interface Validity {
  readonly from: number;
  readonly until: number;
}

export interface ServingRequest {
  readonly subject: CertificateName;
  /** DNS names and IP addresses. */
  readonly hosts: readonly string[];
  readonly validity: Validity;
}

/** An authority, and the name that it was made with. */
export interface Signer extends CertificatePair {
  readonly name: CertificateName;
}

const { asn1 } = forge;
const { UNIVERSAL, CONTEXT_SPECIFIC } = asn1.Class;

const oid = {
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
} as const;

/** Makes a self-signed authority for certificates of servers; no authority below it is valid. */
export function createAuthority(name: CertificateName, validity: Validity): CertificatePair {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const extensions = [
    extension('basicConstraints', sequence(boolean(true), integer('\0')), { critical: true }),
    // Signing certificates, and nothing else.
    extension('keyUsage', bitString(Buffer.from([0x04]), 2), { critical: true }),
    extension('subjectKeyIdentifier', octetString(keyIdentifier(publicKey))),
  ];
  const names = { subject: name, issuer: name };
  return {
    certificate: signCertificate({ ...names, publicKey, signer: privateKey, validity, extensions }),
    privateKey: exportKey(privateKey),
  };
}

/** Makes a certificate for a server, with a key of its own. Throws `RangeError` for a host that no certificate can name. */
export function createServingCertificate(
  authority: Signer,
  { subject, hosts, validity }: ServingRequest,
): CertificatePair {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const signer = createPrivateKey(authority.privateKey);
  const issuerKey = primitive(CONTEXT_SPECIFIC, 0, keyIdentifier(createPublicKey(signer)));
  const extensions = [
    extension('basicConstraints', sequence(), { critical: true }),
    // Digital signatures, and nothing else.
    extension('keyUsage', bitString(Buffer.from([0x80]), 7), { critical: true }),
    extension('extendedKeyUsage', sequence(objectIdentifier(oid.serverAuth))),
    extension('subjectKeyIdentifier', octetString(keyIdentifier(publicKey))),
    extension('authorityKeyIdentifier', sequence(issuerKey)),
    extension('subjectAltName', sequence(...hosts.map(generalName))),
  ];
  const names = { subject, issuer: authority.name };
  return {
    certificate: signCertificate({ ...names, publicKey, signer, validity, extensions }),
    privateKey: exportKey(privateKey),
  };
}

interface CertificateParts {
  readonly subject: CertificateName;
  readonly issuer: CertificateName;
  readonly publicKey: KeyObject;
  readonly signer: KeyObject;
  readonly validity: Validity;
  readonly extensions: forge.asn1.Asn1[];
}

/** RFC 5280, section 4.1, version 3. The ASN.1 is node-forge's, the signature is node:crypto's. */
function signCertificate({
  subject,
  issuer,
  publicKey,
  signer,
  validity,
  extensions,
}: CertificateParts): string {
  const algorithm = sequence(objectIdentifier(oid.ecdsaWithSha256));
  const body = sequence(
    explicit(0, integer('\u0002')),
    integer(serialNumber(publicKey)),
    algorithm,
    distinguishedName(issuer, 'shortest'),
    sequence(time(validity.from), time(validity.until)),
    distinguishedName(subject, 'shortest'),
    asn1.fromDer(spkiOf(publicKey).toString('latin1')),
    explicit(3, sequence(...extensions)),
  );
  const signature = sign('sha256', encodeDer(body), signer);
  return pem('CERTIFICATE', encodeDer(sequence(body, algorithm, bitString(signature))));
}

/** Sixteen bytes that no other key has, positive and without a leading zero: every certificate here has a new key. */
function serialNumber(publicKey: KeyObject): string {
  const bytes = hash('sha256', spkiOf(publicKey), 'buffer').subarray(0, 16);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes.toString('latin1');
}

/** Twenty bytes, as RFC 7093 makes them. */
const keyIdentifier = (publicKey: KeyObject): string =>
  hash('sha256', spkiOf(publicKey), 'buffer').subarray(0, 20).toString('latin1');

function generalName(host: string): forge.asn1.Asn1 {
  const address = parseAddress(host);
  if (address !== undefined) return primitive(CONTEXT_SPECIFIC, 7, Buffer.from(address).toString('latin1'));
  if (!/^[A-Za-z0-9._-]{1,253}$/.test(host))
    throw new RangeError('a host of a certificate must be a DNS name or an IP address');
  return primitive(CONTEXT_SPECIFIC, 2, host);
}

/** From 2050 on the short form would be read as a year of the last century. */
function time(instant: number): forge.asn1.Asn1 {
  const date = new Date(instant);
  return date.getUTCFullYear() < 2050
    ? primitive(UNIVERSAL, asn1.Type.UTCTIME, asn1.dateToUtcTime(date))
    : primitive(UNIVERSAL, asn1.Type.GENERALIZEDTIME, asn1.dateToGeneralizedTime(date));
}

function extension(
  name: keyof typeof oid,
  value: forge.asn1.Asn1,
  { critical = false } = {},
): forge.asn1.Asn1 {
  const content = octetString(encodeDer(value).toString('latin1'));
  return sequence(objectIdentifier(oid[name]), ...(critical ? [boolean(true)] : []), content);
}

const primitive = (tagClass: forge.asn1.Class, type: number, value: string): forge.asn1.Asn1 =>
  asn1.create(tagClass, type, false, value);

const explicit = (tag: number, value: forge.asn1.Asn1): forge.asn1.Asn1 =>
  asn1.create(CONTEXT_SPECIFIC, tag, true, [value]);

const integer = (bytes: string): forge.asn1.Asn1 => primitive(UNIVERSAL, asn1.Type.INTEGER, bytes);
const octetString = (bytes: string): forge.asn1.Asn1 => primitive(UNIVERSAL, asn1.Type.OCTETSTRING, bytes);
const boolean = (value: boolean): forge.asn1.Asn1 =>
  primitive(UNIVERSAL, asn1.Type.BOOLEAN, value ? '\u00ff' : '\0');

const spkiOf = (publicKey: KeyObject): Buffer => publicKey.export({ type: 'spki', format: 'der' });
const exportKey = (privateKey: KeyObject): string =>
  privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
