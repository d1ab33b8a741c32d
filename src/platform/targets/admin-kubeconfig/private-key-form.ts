import { type DERElement, parseDER, tags } from './der.ts';

export type PrivateKeyLabel = 'PRIVATE KEY' | 'RSA PRIVATE KEY' | 'EC PRIVATE KEY';

/** `malformed`: no key of that label. `other`: perhaps a key, of a kind or size that is not accepted. */
export type PrivateKeyForm = 'accepted' | 'other' | 'malformed';

/**
 * Judges the encoding of a private key before anything calculates with it: RSA, P-256, P-384, P-521 or Ed25519, all
 * numbers bounded. To OpenSSL, reading a key of DSA or Diffie-Hellman is to compute its public half, whatever the label
 * says: half a minute of the only thread for numbers of a few thousand bytes.
 */
export function privateKeyForm(der: Buffer, label: PrivateKeyLabel): PrivateKeyForm {
  const parts = parseSequence(der);
  if (parts === undefined) return 'malformed';
  if (label === 'RSA PRIVATE KEY') return rsaForm(parts);
  return label === 'EC PRIVATE KEY' ? ecForm(parts, undefined) : wrappedForm(parts);
}

/** P-256, P-384, P-521, by the same. */
const curves: ReadonlySet<string> = new Set(['2a8648ce3d030107', '2b81040022', '2b81040023']);

/** A sequence of more elements is no private key. */
const maxElements = 16;
/** Of 4,096 bits, with the zero before a number whose first bit is set. */
const maxNumberBytes = 513;
/** The exponent of P-521. */
const maxScalarBytes = 66;
/** An uncompressed point of P-521, and how many bits of the last byte are unused. */
const maxPointBytes = 134;

/** PKCS#8: version, algorithm, key; attributes, which nothing reads, may follow. */
function wrappedForm([version, algorithm, key]: readonly DERElement[]): PrivateKeyForm {
  if (!isVersion(version, 0) || algorithm?.tag !== tags.sequence || key?.tag !== tags.octetString)
    return 'malformed';
  const [kind, parameters, ...others] = parseDER(algorithm.content, maxElements) ?? [];
  if (kind?.tag !== tags.oid || others.length > 0) return 'malformed';
  const judge = wrappedKinds[kind.content.toString('hex')];
  return judge === undefined ? 'other' : judge(key.content, parameters);
}

/** By the OID of the algorithm, in hexadecimal digits. */
const wrappedKinds: Readonly<
  Record<string, (key: Buffer, parameters: DERElement | undefined) => PrivateKeyForm>
> = {
  '2a864886f70d010101': (key, parameters) => {
    const parts = parseSequence(key);
    return parts === undefined || !isNull(parameters) ? 'malformed' : rsaForm(parts);
  },
  '2a8648ce3d0201': (key, parameters) => {
    if (!isCurve(parameters)) return 'other';
    const parts = parseSequence(key);
    return parts === undefined ? 'malformed' : ecForm(parts, parameters);
  },
  '2b6570': (key, parameters) => (parameters === undefined && isSeed(key) ? 'accepted' : 'malformed'),
};

/** PKCS#1: version, n, e, d, p, q, dp, dq, qi. Version 0: no further primes. */
function rsaForm(parts: readonly DERElement[]): PrivateKeyForm {
  const [version, ...numbers] = parts;
  if (numbers.length !== 8 || numbers.some(({ tag }) => tag !== tags.integer)) return 'malformed';
  if (!isVersion(version, 0)) return 'other';
  return numbers.every(({ content }) => content.length <= maxNumberBytes) ? 'accepted' : 'other';
}

/** SEC 1: version, exponent, curve, point. Parameters in the key hold over those beside it, so they are judged too. */
function ecForm(parts: readonly DERElement[], beside: DERElement | undefined): PrivateKeyForm {
  const [version, exponent, ...others] = parts;
  if (!isVersion(version, 1) || exponent?.tag !== tags.octetString) return 'malformed';
  if (exponent.content.length > maxScalarBytes) return 'other';
  const within = others[0]?.tag === tags.context0 ? others.shift() : undefined;
  const point = others.shift();
  if (others.length > 0 || !(point === undefined || isPoint(point))) return 'malformed';
  const curve = within === undefined ? beside : only(within.content);
  return isCurve(curve) ? 'accepted' : 'other';
}

function isPoint({ tag, content }: DERElement): boolean {
  const bits = only(content);
  return tag === tags.context1 && bits?.tag === tags.bitString && bits.content.length <= maxPointBytes;
}

const isSeed = (content: Buffer): boolean => {
  const seed = only(content);
  return seed?.tag === tags.octetString && seed.content.length === 32;
};

const isVersion = (element: DERElement | undefined, version: number): boolean =>
  element?.tag === tags.integer && element.content.equals(Buffer.of(version));

const isNull = (element: DERElement | undefined): boolean =>
  element === undefined || (element.tag === tags.null && element.content.length === 0);

const isCurve = (element: DERElement | undefined): boolean =>
  element?.tag === tags.oid && curves.has(element.content.toString('hex'));

function only(bytes: Buffer): DERElement | undefined {
  return parseDER(bytes, 1)?.[0];
}

function parseSequence(bytes: Buffer): readonly DERElement[] | undefined {
  const outer = only(bytes);
  return outer?.tag === tags.sequence ? parseDER(outer.content, maxElements) : undefined;
}
