import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import forge from 'node-forge';
import { bitString, encodeDer, objectIdentifier, pem, sequence } from './der.ts';
import { type CertificateName, distinguishedName } from './distinguished-name.ts';

/** A request for a client certificate and the key that it is for. */
export interface CertificateRequest {
  /** PKCS #10 in PEM, for `spec.request` of a CertificateSigningRequest. */
  readonly request: string;
  /** SEC 1 in PEM, a secret: some clients read PKCS #8 as a key of RSA. */
  readonly privateKey: string;
  readonly publicKey: KeyObject;
}

const { asn1 } = forge;
const { UNIVERSAL, CONTEXT_SPECIFIC } = asn1.Class;
const ecdsaWithSha256 = '1.2.840.10045.4.3.2';

/**
 * Makes a request for exactly this name, without any attribute, signed by `privateKey` (P-256; a new one unless given).
 * Throws `RangeError` that names the field of a name which cannot stand in a certificate, and for a key of another kind.
 * The ASN.1 is node-forge's, key and signature are node:crypto's: node-forge knows no elliptic curves.
 */
export function createCertificateRequest(
  name: CertificateName,
  privateKey: KeyObject = generatePrivateKey(),
): CertificateRequest {
  if (privateKey.type !== 'private' || privateKey.asymmetricKeyDetails?.namedCurve !== 'prime256v1')
    throw new RangeError('privateKey of a certificate request must be a private key on P-256');
  const publicKey = createPublicKey(privateKey);
  const info = requestInfo(name, publicKey);
  const signature = sign('sha256', encodeDer(info), privateKey);
  const request = sequence(info, sequence(objectIdentifier(ecdsaWithSha256)), bitString(signature));
  return {
    request: pem('CERTIFICATE REQUEST', encodeDer(request)),
    privateKey: privateKey.export({ type: 'sec1', format: 'pem' }).toString(),
    publicKey,
  };
}

/** Less than a millisecond: not worth a thread. */
function generatePrivateKey(): KeyObject {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
}

/** CertificationRequestInfo of RFC 2986, section 4.1: version, subject, key, and an empty set of attributes. */
function requestInfo(name: CertificateName, publicKey: KeyObject): forge.asn1.Asn1 {
  const version = asn1.create(UNIVERSAL, asn1.Type.INTEGER, false, asn1.integerToDer(0).getBytes());
  const spki = asn1.fromDer(publicKey.export({ type: 'spki', format: 'der' }).toString('latin1'));
  const attributes = asn1.create(CONTEXT_SPECIFIC, 0, true, []);
  return sequence(version, distinguishedName(name, 'shortest'), spki, attributes);
}
