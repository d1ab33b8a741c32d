import forge from 'node-forge';

/** One attribute of a name as it stands in the request. */
export interface RequestedAttribute {
  readonly oid: string;
  /** ASN.1: 12 is UTF8String, 19 is PrintableString. */
  readonly type: number;
  readonly text: string;
}

/** The content of a certificate request, read by another program than the one that wrote it. */
export interface RequestContent {
  readonly version: number;
  /** The attributes of each relative distinguished name. */
  readonly subject: readonly (readonly RequestedAttribute[])[];
  /** DER. */
  readonly publicKey: Buffer;
  readonly attributes: number;
  readonly algorithm: string;
  /** DER: what is signed. */
  readonly info: Buffer;
  readonly signature: Buffer;
}

const { asn1 } = forge;

/** Reads a PKCS #10 request. @throws Error when it is none, with bytes to spare included. */
export function readCertificateRequest(pem: string): RequestContent {
  const der = Buffer.from(pem.replaceAll(/-----[A-Z ]+-----|\n/g, ''), 'base64');
  const [info, algorithm, signature] = partsOf(asn1.fromDer(der.toString('latin1')), 3);
  const [version, subject, publicKey, attributes] = partsOf(info, 4);
  const [algorithmID] = partsOf(algorithm, 1);
  return {
    version: asn1.derToInteger(bytesOf(version)),
    subject: partsOf(subject).map((set) => partsOf(set).map(attributeOf)),
    publicKey: derOf(publicKey),
    attributes: partsOf(attributes).length,
    algorithm: asn1.derToOid(bytesOf(algorithmID)),
    info: derOf(info),
    signature: bitsOf(signature),
  };
}

function attributeOf(attribute: forge.asn1.Asn1): RequestedAttribute {
  const [type, value] = partsOf(attribute, 2);
  const bytes = Buffer.from(bytesOf(value), 'latin1');
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  return { oid: asn1.derToOid(bytesOf(type)), type: value?.type ?? -1, text };
}

function partsOf(value: forge.asn1.Asn1 | undefined, count?: number): readonly forge.asn1.Asn1[] {
  if (!Array.isArray(value?.value) || (count !== undefined && value.value.length !== count))
    throw new Error(`not ${count ?? 'a list of'} parts`);
  return value.value;
}

function bytesOf(value: forge.asn1.Asn1 | undefined): string {
  if (typeof value?.value !== 'string') throw new Error('not a plain value');
  return value.value;
}

/** node-forge takes a bit string apart when it looks like ASN.1, as an ECDSA signature does, and keeps the bytes here. */
function bitsOf(value: forge.asn1.Asn1 | undefined): Buffer {
  const { bitStringContents } = (value ?? {}) as { bitStringContents?: string };
  if (bitStringContents === undefined) throw new Error('not a bit string');
  return Buffer.from(bitStringContents, 'latin1').subarray(1);
}

const derOf = (value: forge.asn1.Asn1 | undefined): Buffer => {
  if (value === undefined) throw new Error('nothing there');
  return Buffer.from(asn1.toDer(value).getBytes(), 'latin1');
};
