import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  type KeyPairKeyObjectResult,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto';
import {
  bitString,
  boolean,
  explicit,
  implicit,
  integer,
  objectIdentifier,
  octetString,
  sequence,
  set,
  utcTime,
  utf8String,
} from './der.ts';

/** A certificate and its private key (P-256), both PEM. */
export interface Identity {
  readonly certificate: string;
  readonly key: string;
}

/** Who a client certificate speaks for: `CN` is the user, each `O` a group. */
export interface Subject {
  readonly user: string;
  readonly groups?: readonly string[];
}

const dayMs = 86_400_000;
/** Certificates start in the past, so that a clock that is a little behind accepts them. */
const backdateMs = 300_000;
const leafLifeMs = 365 * dayMs;
/** Longer than what its signer gives: that never gives more than is left of the authority. */
const authorityLifeMs = 10 * leafLifeMs;

const oid = {
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
};

const keyUsage = { digitalSignature: [0x80, 7], certificateSigning: [0x06, 1] } as const;

/** Makes a self-signed certificate authority. */
export function createAuthority(name: string): Identity {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const extensions = [
    extension(oid.basicConstraints, true, sequence(boolean(true))),
    usage('certificateSigning'),
    extension(oid.subjectKeyIdentifier, false, octetString(keyIdentifier(publicKey))),
  ];
  const subject = distinguishedName({ user: name });
  const issuer = { issuer: subject, signer: privateKey };
  return identity({ subject, ...issuer, publicKey, privateKey, extensions, lifeMs: authorityLifeMs });
}

/** Makes a client certificate, of a P-256 key unless another pair is given. */
export function createClient(authority: Identity, subject: Subject, keys = newKeys()): Identity {
  return leaf(authority, distinguishedName(subject), [extendedUsage(oid.clientAuth)], keys);
}

/** Makes a server certificate for 127.0.0.1 and the given DNS names. */
export function createServer(authority: Identity, dnsNames: readonly string[]): Identity {
  const names = [
    ...dnsNames.map((name) => implicit(2, Buffer.from(name))),
    implicit(7, Buffer.from([127, 0, 0, 1])),
  ];
  const subject = distinguishedName({ user: dnsNames[0] ?? 'localhost' });
  return leaf(authority, subject, [
    extendedUsage(oid.serverAuth),
    extension(oid.subjectAltName, false, sequence(...names)),
  ]);
}

const newKeys = (): KeyPairKeyObjectResult => generateKeyPairSync('ec', { namedCurve: 'P-256' });

function leaf(
  authority: Identity,
  subject: Buffer,
  extensions: readonly Buffer[],
  { privateKey, publicKey } = newKeys(),
): Identity {
  const signer = createPrivateKey(authority.key);
  const issuerKey = sequence(implicit(0, keyIdentifier(createPublicKey(signer))));
  return identity({
    subject,
    issuer: distinguishedName({ user: commonNameOf(authority.certificate) }),
    publicKey,
    privateKey,
    signer,
    lifeMs: leafLifeMs,
    extensions: [
      usage('digitalSignature'),
      extension(oid.authorityKeyIdentifier, false, issuerKey),
      ...extensions,
    ],
  });
}

interface CertificateParts {
  readonly subject: Buffer;
  readonly issuer: Buffer;
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
  readonly signer: KeyObject;
  readonly lifeMs: number;
  readonly extensions: readonly Buffer[];
}

function identity(parts: CertificateParts): Identity {
  const algorithm = sequence(objectIdentifier(oid.ecdsaWithSha256));
  const now = Date.now();
  const body = sequence(
    explicit(0, integer(Buffer.from([2]))),
    integer(serialNumber()),
    algorithm,
    parts.issuer,
    sequence(utcTime(new Date(now - backdateMs)), utcTime(new Date(now + parts.lifeMs))),
    parts.subject,
    parts.publicKey.export({ format: 'der', type: 'spki' }),
    explicit(3, sequence(...parts.extensions)),
  );
  const certificate = sequence(body, algorithm, bitString(sign('sha256', body, parts.signer)));
  return {
    certificate: new X509Certificate(certificate).toString(),
    key: parts.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
  };
}

/** Sixteen random bytes, positive and without a leading zero byte (RFC 5280, 4.1.2.2). */
function serialNumber(): Buffer {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes;
}

function distinguishedName({ user, groups = [] }: Subject): Buffer {
  const attribute = (type: string, value: string): Buffer =>
    set(sequence(objectIdentifier(type), utf8String(value)));
  return sequence(
    ...groups.map((group) => attribute(oid.organization, group)),
    attribute(oid.commonName, user),
  );
}

function commonNameOf(certificate: string): string {
  return new X509Certificate(certificate).subject.replace(/^CN=/, '');
}

function keyIdentifier(publicKey: KeyObject): Buffer {
  return createHash('sha1')
    .update(publicKey.export({ format: 'der', type: 'spki' }))
    .digest();
}

function extension(id: string, critical: boolean, value: Buffer): Buffer {
  return sequence(objectIdentifier(id), ...(critical ? [boolean(true)] : []), octetString(value));
}

function usage(purpose: keyof typeof keyUsage): Buffer {
  const [bits, unused] = keyUsage[purpose];
  return extension(oid.keyUsage, true, bitString(Buffer.from([bits]), unused));
}

function extendedUsage(purpose: string): Buffer {
  return extension(oid.extendedKeyUsage, false, sequence(objectIdentifier(purpose)));
}
