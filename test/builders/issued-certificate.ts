import { generateKeyPairSync, type KeyObject, sign, X509Certificate } from 'node:crypto';
import {
  bitString,
  boolean,
  explicit,
  integer,
  objectIdentifier,
  octetString,
  sequence,
  set,
  utcTime,
  utf8String,
} from '../../lab/controlplane/der.ts';

/** An attribute of a name: `O` or `CN`, and its value as text (UTF8String) or as DER. */
export type Attribute = readonly [type: 'O' | 'CN' | 'OU', value: string | Buffer];

export interface CertificateParts {
  readonly publicKey: KeyObject;
  /** Each a relative distinguished name, or several attributes that share one. */
  readonly subject: readonly (Attribute | readonly Attribute[])[];
  readonly notAfter: Date;
  /** OIDs of the extended key usage; absent: no such extension. */
  readonly usages?: readonly string[];
  readonly isAuthority?: boolean;
}

export const usages = { client: '1.3.6.1.5.5.7.3.2', server: '1.3.6.1.5.5.7.3.1', any: '2.5.29.37.0' };

const types = { O: '2.5.4.10', OU: '2.5.4.11', CN: '2.5.4.3' };
const algorithm = sequence(objectIdentifier('1.2.840.10045.4.3.2'));
const signer = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;

/** PrintableString, as Go writes where it can. */
export const printableString = (text: string): Buffer =>
  Buffer.concat([Buffer.from([0x13, text.length]), Buffer.from(text, 'ascii')]);

/** A certificate in PEM as some signer might issue it, right or wrong; serial number `4a0b`. */
export function certificateOf(parts: CertificateParts): string {
  const body = sequence(
    explicit(0, integer(Buffer.from([2]))),
    integer(Buffer.from([0x4a, 0x0b])),
    algorithm,
    nameOf([['CN', 'the signer']]),
    sequence(timeOf(new Date('2026-01-01T00:00:00Z')), timeOf(parts.notAfter)),
    nameOf(parts.subject),
    parts.publicKey.export({ type: 'spki', format: 'der' }),
    explicit(3, sequence(...extensionsOf(parts))),
  );
  const der = sequence(body, algorithm, bitString(sign('sha256', body, signer)));
  return new X509Certificate(der).toString();
}

/** From 2050 on the year has four digits (RFC 5280, 4.1.2.5). */
function timeOf(time: Date): Buffer {
  if (time.getUTCFullYear() < 2050) return utcTime(time);
  const text = time.toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  return Buffer.concat([Buffer.from([0x18, text.length]), Buffer.from(text, 'ascii')]);
}

function nameOf(names: CertificateParts['subject']): Buffer {
  const groups = names.map((name) => (Array.isArray(name[0]) ? name : [name]) as readonly Attribute[]);
  return sequence(...groups.map((attributes) => set(...attributes.map(attributeOf))));
}

const attributeOf = ([type, value]: Attribute): Buffer =>
  sequence(objectIdentifier(types[type]), typeof value === 'string' ? utf8String(value) : value);

function extensionsOf({ usages: purposes, isAuthority }: CertificateParts): Buffer[] {
  const constraints = sequence(...(isAuthority === true ? [boolean(true)] : []));
  return [
    extension('2.5.29.19', constraints),
    ...(purposes === undefined ? [] : [extension('2.5.29.37', sequence(...purposes.map(objectIdentifier)))]),
  ];
}

const extension = (id: string, value: Buffer): Buffer => sequence(objectIdentifier(id), octetString(value));
