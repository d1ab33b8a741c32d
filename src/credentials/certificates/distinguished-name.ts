import forge from 'node-forge';

/** Who a client certificate speaks for: to Kubernetes, `commonName` is the user and `organization` the group. */
export interface CertificateName {
  readonly commonName: string;
  readonly organization: string;
}

/**
 * `shortest` is what Go writes, and so the signer of Kubernetes: PrintableString where the characters allow it, UTF8String otherwise.
 * `utf8` is UTF8String for all.
 */
export type NameEncoding = 'shortest' | 'utf8';

const { asn1 } = forge;
const { UNIVERSAL } = asn1.Class;

/** In UTF-8. The longest name that we ask for has less than half of it. */
const maxBytes = 256;
const printable = /^[A-Za-z0-9 '()+,\-./:=?]+$/;
const oid = { commonName: '2.5.4.3', organization: '2.5.4.10' };

/**
 * The name as ASN.1, each value literally as it is: `a,O=b` is one value and never a second attribute. Exactly two attributes in the
 * order in which Go writes them, `O` and `CN`.
 * Throws `RangeError`, with the field and never with its value, for what is empty, too long, or holds control characters or halves of
 * surrogate pairs: printed, such a value could look like several.
 */
export function distinguishedName(name: CertificateName, encoding: NameEncoding): forge.asn1.Asn1 {
  const attributes = (['organization', 'commonName'] as const).map((field) => {
    requireUsable(field, name[field]);
    const value = encodeString(name[field], encoding);
    const type = asn1.create(UNIVERSAL, asn1.Type.OID, false, asn1.oidToDer(oid[field]).getBytes());
    const attribute = asn1.create(UNIVERSAL, asn1.Type.SEQUENCE, true, [type, value]);
    return asn1.create(UNIVERSAL, asn1.Type.SET, true, [attribute]);
  });
  return asn1.create(UNIVERSAL, asn1.Type.SEQUENCE, true, attributes);
}

function requireUsable(field: keyof CertificateName, value: string): void {
  if (value === '') throw new RangeError(`${field} of a certificate must not be empty`);
  if (Buffer.byteLength(value) > maxBytes)
    throw new RangeError(`${field} of a certificate must not be longer than ${maxBytes} bytes`);
  if (/\p{Cc}/u.test(value) || !value.isWellFormed())
    throw new RangeError(`${field} of a certificate must be text without control characters`);
}

function encodeString(value: string, encoding: NameEncoding): forge.asn1.Asn1 {
  const isPrintable = encoding === 'shortest' && printable.test(value);
  const type = isPrintable ? asn1.Type.PRINTABLESTRING : asn1.Type.UTF8;
  return asn1.create(UNIVERSAL, type, false, Buffer.from(value).toString('latin1'));
}
