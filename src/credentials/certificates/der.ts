import forge from 'node-forge';

const { asn1 } = forge;
const { UNIVERSAL } = asn1.Class;

export const sequence = (...items: forge.asn1.Asn1[]): forge.asn1.Asn1 =>
  asn1.create(UNIVERSAL, asn1.Type.SEQUENCE, true, items);

export const objectIdentifier = (dotted: string): forge.asn1.Asn1 =>
  asn1.create(UNIVERSAL, asn1.Type.OID, false, asn1.oidToDer(dotted).getBytes());

/** The first byte says how many bits at the end are unused. */
export const bitString = (content: Buffer, unusedBits = 0): forge.asn1.Asn1 =>
  asn1.create(
    UNIVERSAL,
    asn1.Type.BITSTRING,
    false,
    String.fromCharCode(unusedBits) + content.toString('latin1'),
  );

export const encodeDer = (value: forge.asn1.Asn1): Buffer =>
  Buffer.from(asn1.toDer(value).getBytes(), 'latin1');

export function pem(label: string, der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n');
}
