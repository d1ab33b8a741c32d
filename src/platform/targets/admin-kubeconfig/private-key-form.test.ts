import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cpuMs } from '../../../../test/fakes/cpu-time.ts';
import { type PrivateKeyLabel, privateKeyForm } from './private-key-form.ts';

const rsa = (modulusLength: number) => generateKeyPairSync('rsa', { modulusLength }).privateKey;
const ec = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve }).privateKey;
const diffieHellman = (): KeyObject => {
  // The types know the form with a prime only.
  const generate = generateKeyPairSync as unknown as (
    type: 'dh',
    options: object,
  ) => { privateKey: KeyObject };
  return generate('dh', { group: 'modp14' }).privateKey;
};
const ed25519 = generateKeyPairSync('ed25519').privateKey;

type Encoding = 'pkcs8' | 'pkcs1' | 'sec1';
const derOf = (key: KeyObject, type: Encoding): Buffer =>
  key.export({ format: 'der', type: type as 'pkcs8' }) as Buffer;

const labels = { pkcs8: 'PRIVATE KEY', pkcs1: 'RSA PRIVATE KEY', sec1: 'EC PRIVATE KEY' } as const;
const formOf = (key: KeyObject, type: Encoding) => privateKeyForm(derOf(key, type), labels[type]);

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');
const element = (tag: number, ...parts: readonly Buffer[]): Buffer => {
  const content = Buffer.concat(parts);
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.of(tag, length), content]);
  const size = length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...size), content]);
};
const sequence = (...parts: readonly Buffer[]) => element(0x30, ...parts);
const number = (bytes: number) => element(0x02, Buffer.alloc(bytes, 1));
const zero = hex('020100');
const one = hex('020101');
const p256 = hex('06082a8648ce3d030107');
const secp256k1 = hex('06052b8104000a');
const ecOID = hex('06072a8648ce3d0201');
const rsaOID = hex('06092a864886f70d010101');

describe('the form of a private key', () => {
  it.each<[string, () => KeyObject, Encoding]>([
    ['RSA of 2,048 bits', () => rsa(2_048), 'pkcs8'],
    ['RSA of 2,048 bits', () => rsa(2_048), 'pkcs1'],
    ['RSA of 4,096 bits', () => rsa(4_096), 'pkcs1'],
    ...['P-256', 'P-384', 'P-521'].flatMap((curve): [string, () => KeyObject, Encoding][] => [
      [curve, () => ec(curve), 'pkcs8'],
      [curve, () => ec(curve), 'sec1'],
    ]),
    ['Ed25519', () => ed25519, 'pkcs8'],
  ])('is taken: %s', (_, make, type) => {
    expect(formOf(make(), type)).toBe('accepted');
  });

  it.each<[string, () => KeyObject, Encoding]>([
    ['another curve', () => ec('secp256k1'), 'pkcs8'],
    ['another curve', () => ec('secp256k1'), 'sec1'],
    ['RSA-PSS', () => generateKeyPairSync('rsa-pss', { modulusLength: 2_048 }).privateKey, 'pkcs8'],
    ['X25519', () => generateKeyPairSync('x25519').privateKey, 'pkcs8'],
    ['Ed448', () => generateKeyPairSync('ed448').privateKey, 'pkcs8'],
    [
      'DSA',
      () => generateKeyPairSync('dsa', { modulusLength: 1_024, divisorLength: 160 }).privateKey,
      'pkcs8',
    ],
    ['Diffie-Hellman', () => diffieHellman(), 'pkcs8'],
  ])('is that of another kind: %s', (_, make, type) => {
    expect(formOf(make(), type)).toBe('other');
  });

  it.each<[string, PrivateKeyLabel, Buffer]>([
    ['a number of 4,104 bits', 'RSA PRIVATE KEY', sequence(zero, ...Array(7).fill(one), number(514))],
    ['further primes', 'RSA PRIVATE KEY', sequence(one, ...Array(8).fill(one))],
    [
      'RSA in PKCS#8, too long',
      'PRIVATE KEY',
      wrapped([rsaOID], sequence(zero, number(600), ...Array(7).fill(one))),
    ],
    [
      'a curve that is described',
      'PRIVATE KEY',
      wrapped([ecOID, sequence(one)], sequence(one, element(4, one))),
    ],
    ['a long exponent', 'EC PRIVATE KEY', sequence(one, element(4, Buffer.alloc(67)), element(0xa0, p256))],
    ['a curve within that differs', 'PRIVATE KEY', wrapped([ecOID, p256], within(secp256k1))],
    ['a curve within that is described', 'PRIVATE KEY', wrapped([ecOID, p256], within(sequence(one)))],
    ['no curve', 'EC PRIVATE KEY', sequence(one, element(4, one))],
  ])('is that of another kind: %s', (_, label, der) => {
    expect(privateKeyForm(der, label)).toBe('other');
  });

  it.each<[string, PrivateKeyLabel, Buffer]>([
    ['nothing', 'PRIVATE KEY', Buffer.alloc(0)],
    ['something after it', 'PRIVATE KEY', Buffer.concat([derOf(ed25519, 'pkcs8'), one])],
    ['less than it says', 'PRIVATE KEY', derOf(ed25519, 'pkcs8').subarray(0, -1)],
    ['a length without end', 'PRIVATE KEY', hex('3080 020100 0000')],
    ['a length that is not the shortest', 'RSA PRIVATE KEY', hex('30810402020001')],
    ['a length of four bytes', 'PRIVATE KEY', hex('308400000003020100')],
    ['a length that is cut off', 'PRIVATE KEY', hex('3082ff')],
    ['a tag of several bytes', 'PRIVATE KEY', hex('3003 3f0201')],
    ['too many numbers', 'RSA PRIVATE KEY', sequence(zero, ...Array(30_000).fill(one))],
    ['PKCS#8 with the label of RSA', 'RSA PRIVATE KEY', derOf(rsa(2_048), 'pkcs8')],
    ['PKCS#8 with the label of EC', 'EC PRIVATE KEY', derOf(ec('P-256'), 'pkcs8')],
    ['RSA without PKCS#8', 'PRIVATE KEY', derOf(rsa(2_048), 'pkcs1')],
    ['a long point', 'EC PRIVATE KEY', sequence(one, element(4, one), element(0xa0, p256), point(135))],
    ['a short seed', 'PRIVATE KEY', wrapped([hex('06032b6570')], element(4, Buffer.alloc(31)))],
    ['RSA with parameters', 'PRIVATE KEY', wrapped([rsaOID, one], sequence(zero, ...Array(8).fill(one)))],
  ])('is malformed: %s', (_, label, der) => {
    expect(privateKeyForm(der, label)).toBe('malformed');
  });

  it('is judged for any bytes, and what is taken has no more than bounded numbers', () => {
    const keys = [derOf(rsa(2_048), 'pkcs8'), derOf(ec('P-256'), 'pkcs8'), derOf(ed25519, 'pkcs8')];
    const changed = fc
      .tuple(fc.constantFrom(...keys), fc.array(fc.tuple(fc.nat(1_300), fc.nat(255)), { maxLength: 4 }))
      .map(([key, changes]) => {
        const copy = Buffer.from(key);
        for (const [at, value] of changes) copy[at % copy.length] = value;
        return copy;
      });
    fc.assert(
      fc.property(changed, (der) => {
        if (privateKeyForm(der, 'PRIVATE KEY') !== 'accepted') return;
        const read = () => {
          try {
            createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
          } catch {
            // Inconsistent numbers are refused there.
          }
        };
        expect(cpuMs(read)).toBeLessThan(500);
      }),
      { numRuns: 300 },
    );
  });
});

function wrapped(algorithm: readonly Buffer[], key: Buffer): Buffer {
  return sequence(zero, sequence(...algorithm), element(4, key));
}

function within(curve: Buffer): Buffer {
  return sequence(one, element(4, Buffer.alloc(32, 1)), element(0xa0, curve));
}

function point(bytes: number): Buffer {
  return element(0xa1, element(3, Buffer.alloc(bytes)));
}
