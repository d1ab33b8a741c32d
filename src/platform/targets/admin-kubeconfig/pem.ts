import { createPrivateKey, type JsonWebKey, type KeyObject, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { Plain } from './plain-yaml.ts';
import { type PrivateKeyLabel, privateKeyForm } from './private-key-form.ts';
import { KubeConfigRefusal, type RefusalName } from './refusals.ts';

interface Block {
  readonly label: string;
  readonly der: Buffer;
}

/** The certificates of a base64 field, in their order; at least one. Throws the KubeConfigRefusal. */
export function parseCertificates(
  field: Plain | undefined,
  refusal: RefusalName,
): readonly X509Certificate[] {
  const blocks = parseBlocks(decodeField(field, refusal), refusal);
  if (blocks.length === 0) throw new KubeConfigRefusal(refusal);
  return blocks.map(({ label, der }) => {
    if (label !== 'CERTIFICATE') throw new KubeConfigRefusal(refusal);
    return parseCertificate(der, refusal);
  });
}

/** The private key of a base64 field, rebuilt from its checked numbers. Throws a KubeConfigRefusal. */
export function parsePrivateKey(field: Plain | undefined): KeyObject {
  const text = decodeField(field, 'key');
  if (/^-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type:/m.test(text))
    throw new KubeConfigRefusal('keyEncrypted');
  const [block, ...others] = parseBlocks(text, 'key');
  if (block === undefined || others.length > 0) throw new KubeConfigRefusal('key');
  if (!isKeyLabel(block.label)) throw new KubeConfigRefusal('key');
  return acceptKind(parseKey(block.der, block.label));
}

/** Throws a KubeConfigRefusal when the key is not that of the certificate. */
export function checkPair(certificate: X509Certificate, key: KeyObject): void {
  if (!attempt(() => certificate.checkPrivateKey(key), 'keyMismatch'))
    throw new KubeConfigRefusal('keyMismatch');
}

/** Refuses everything that TLS itself would refuse, at each connection and with a text of its own. Throws a KubeConfigRefusal. */
export function checkUsable(pem: {
  readonly ca: string;
  readonly cert?: string;
  readonly key?: string;
}): void {
  attempt(() => createSecureContext(pem), 'unusable');
}

export const toPem = (certificates: readonly X509Certificate[]): string =>
  certificates.map((certificate) => certificate.toString()).join('');

const keyTypes = {
  'PRIVATE KEY': 'pkcs8',
  'RSA PRIVATE KEY': 'pkcs1',
  'EC PRIVATE KEY': 'sec1',
} as const satisfies Record<PrivateKeyLabel, string>;

const isKeyLabel = (label: string): label is PrivateKeyLabel => Object.hasOwn(keyTypes, label);

/** OpenSSL reads nothing that has not been judged: it would calculate with it. */
function parseKey(der: Buffer, label: PrivateKeyLabel): KeyObject {
  const form = privateKeyForm(der, label);
  if (form !== 'accepted') throw new KubeConfigRefusal(form === 'other' ? 'keyKind' : 'key');
  return attempt(() => createPrivateKey({ key: der, format: 'der', type: keyTypes[label] }), 'key');
}

const curves = ['prime256v1', 'secp384r1', 'secp521r1'];

/** Each TLS handshake signs with this key on the only thread there is: a huge one would stop everything for minutes. */
function acceptKind(key: KeyObject): KeyObject {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details = {} } = key;
  if (type === 'rsa') return rebuildRSAKey(key, details.modulusLength ?? 0);
  if (type === 'ec' && curves.includes(details.namedCurve ?? '')) return key;
  if (type === 'ed25519') return key;
  throw new KubeConfigRefusal('keyKind');
}

/** The primes of a crafted key may be longer than its modulus, depending on OpenSSL, or more than two: none of that is kept. */
function rebuildRSAKey(key: KeyObject, bits: number): KeyObject {
  if (bits < 2_048 || bits > 4_096) throw new KubeConfigRefusal('keyKind');
  const { kty, n, e, d, p, q, dp, dq, qi } = attempt(() => key.export({ format: 'jwk' }), 'keyKind');
  const half = Math.ceil(bits / 16) + 1;
  const isBounded = [p, q, dp, dq, qi].every((part) => lengthOf(part) <= half);
  if (!isBounded || lengthOf(d) > 2 * half || lengthOf(e) > 8) throw new KubeConfigRefusal('keyKind');
  const jwk = { kty, n, e, d, p, q, dp, dq, qi } as JsonWebKey;
  return attempt(() => createPrivateKey({ key: jwk, format: 'jwk' }), 'keyKind');
}

const lengthOf = (part: unknown): number =>
  typeof part === 'string' ? Buffer.byteLength(part, 'base64url') : Number.POSITIVE_INFINITY;

function parseCertificate(der: Buffer, refusal: RefusalName): X509Certificate {
  const certificate = attempt(() => new X509Certificate(der), refusal);
  if (!certificate.raw.equals(der)) throw new KubeConfigRefusal(refusal);
  return certificate;
}

/** Text of a base64 field. Line breaks are allowed, as YAML folds long values. */
function decodeField(field: Plain | undefined, refusal: RefusalName): string {
  const text = strictBase64(typeof field === 'string' ? field : '', refusal).toString('latin1');
  if (isBase64Of(text, /^-----BEGIN /)) throw new KubeConfigRefusal('fieldBase64Twice');
  return text;
}

function strictBase64(text: string, refusal: RefusalName): Buffer {
  const compact = text.replace(/\s+/g, '');
  const bytes = Buffer.from(compact, 'base64');
  if (bytes.length === 0 || bytes.toString('base64') !== compact) throw new KubeConfigRefusal(refusal);
  return bytes;
}

/** Nothing but white space may stand outside the blocks, and no headers inside. */
function parseBlocks(text: string, refusal: RefusalName): readonly Block[] {
  const blocks: Block[] = [];
  const pattern =
    /\s*-----BEGIN ([A-Z0-9 ]{1,40})-----\r?\n([A-Za-z0-9+/=\r\n]+)-----END ([A-Z0-9 ]{1,40})-----\s*/y;
  while (pattern.lastIndex < text.length) {
    const [, label, body, end] = pattern.exec(text) ?? [];
    if (label === undefined || body === undefined || label !== end) throw new KubeConfigRefusal(refusal);
    blocks.push({ label, der: strictBase64(body, refusal) });
  }
  return blocks;
}

/** OpenSSL's own errors may quote what they could not read. */
function attempt<T>(work: () => T, refusal: RefusalName): T {
  try {
    return work();
  } catch {
    throw new KubeConfigRefusal(refusal);
  }
}

/** Whether a text is base64 of one that begins like this. Lines may be folded. */
export function isBase64Of(text: string, beginning: RegExp): boolean {
  // White space goes first: an expression that allows it in two places takes minutes on a text of nothing else.
  const compact = text.replace(/\s/g, '');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(compact)) return false;
  return beginning.test(Buffer.from(compact, 'base64').toString('latin1'));
}
