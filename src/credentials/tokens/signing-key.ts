import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { calculateJwkThumbprint } from 'jose';

/** The public half as the key set publishes it. */
export interface PublicJwk {
  readonly kty: 'EC';
  readonly crv: 'P-256';
  readonly x: string;
  readonly y: string;
}

/** One P-256 key that signs tokens. Instants are epoch milliseconds. */
export interface SigningKey {
  /** RFC 7638 thumbprint of the public key. */
  readonly kid: string;
  readonly publicJwk: PublicJwk;
  readonly privateKey: KeyObject;
  readonly createdAt: number;
  /** From then on it signs, until a later key does. */
  readonly activeFrom: number;
  /** The longest life in seconds that the site allowed while this key could sign. It never shrinks. */
  readonly maxLife: number;
}

/** The dates of a key in a key set. */
export type SigningKeyDates = Pick<SigningKey, 'createdAt' | 'activeFrom' | 'maxLife'>;

const generate = promisify(generateKeyPair);

/** Makes a new P-256 key. */
export async function generateSigningKey(dates: SigningKeyDates): Promise<SigningKey> {
  const { privateKey } = await generate('ec', { namedCurve: 'P-256' });
  return toSigningKey(privateKey, dates);
}

/** Reads a private key in PEM. `undefined` for anything but a P-256 key; no error text, which might quote the key. */
export async function readSigningKey(pem: string, dates: SigningKeyDates): Promise<SigningKey | undefined> {
  const privateKey = parsePrivateKey(pem);
  const isP256 = privateKey?.asymmetricKeyDetails?.namedCurve === 'prime256v1';
  return privateKey === undefined || !isP256 ? undefined : toSigningKey(privateKey, dates);
}

async function toSigningKey(privateKey: KeyObject, dates: SigningKeyDates): Promise<SigningKey> {
  const { x = '', y = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
  const publicJwk: PublicJwk = { kty: 'EC', crv: 'P-256', x, y };
  return { kid: await calculateJwkThumbprint(publicJwk), publicJwk, privateKey, ...dates };
}

function parsePrivateKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined;
  }
}
