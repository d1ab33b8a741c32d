import { randomBytes } from 'node:crypto';
import { type AddressInfo, createServer, type Server } from 'node:net';
import forge from 'node-forge';
import { afterEach, describe, expect, it } from 'vitest';
import { configMaps } from '../../../src/api/resources.ts';
import { readAdminKubeConfig } from '../../../src/platform/targets/admin-kubeconfig/admin-kube-config.ts';
import { adminDocument, base64, certificateUser, yamlOf } from '../../builders/admin-kube-config.ts';
import { cpuMs } from '../../fakes/cpu-time.ts';
import { four, TargetWorld } from './target-world.ts';

const { asn1 } = forge;
const { UNIVERSAL } = asn1.Class;
const { SEQUENCE, INTEGER, OID, OCTETSTRING } = asn1.Type;

const sequence = (...items: forge.asn1.Asn1[]) => asn1.create(UNIVERSAL, SEQUENCE, true, items);
const integer = (bytes: Buffer) => asn1.create(UNIVERSAL, INTEGER, false, bytes.toString('latin1'));
const oid = (dotted: string) => asn1.create(UNIVERSAL, OID, false, asn1.oidToDer(dotted).getBytes());

function odd(bytes: number): Buffer {
  const number = randomBytes(bytes);
  number[0] = 0x7f;
  number[bytes - 1] = (number[bytes - 1] ?? 0) | 1;
  return number;
}

/** A key whose public half OpenSSL computes while it reads it: the larger the numbers, the longer nothing else happens. */
function slowKey(algorithm: string, bytes: number, label: string): string {
  const numbers = [odd(bytes), odd(bytes - 1), odd(bytes)].map(integer);
  const parameters = { dsa: numbers, dh: numbers.slice(1).reverse(), dhx: numbers }[algorithm] ?? [];
  const info = sequence(
    integer(Buffer.from([0])),
    sequence(oid(oids[algorithm] ?? ''), sequence(...parameters)),
    asn1.create(UNIVERSAL, OCTETSTRING, false, asn1.toDer(integer(odd(bytes))).getBytes()),
  );
  const der = Buffer.from(asn1.toDer(info).getBytes(), 'latin1').toString('base64');
  return `-----BEGIN ${label}-----\n${der}\n-----END ${label}-----\n`;
}

const oids: Readonly<Record<string, string>> = {
  dsa: '1.2.840.10040.4.1',
  dh: '1.2.840.113549.1.3.1',
  dhx: '1.2.840.10046.2.1',
};
const labels = ['PRIVATE KEY', 'RSA PRIVATE KEY', 'EC PRIVATE KEY'];

describe('an administrator kubeconfig whose key takes long to read', () => {
  it.each(Object.keys(oids).flatMap((algorithm) => labels.map((label) => [algorithm, label] as const)))(
    'does not stop everything else: %s as %s',
    (algorithm, label) => {
      const key = slowKey(algorithm, 1_250, label);
      const document = yamlOf(
        adminDocument({ user: { ...certificateUser(), 'client-key-data': base64(key) } }),
      );
      const read = () => expect(readAdminKubeConfig(document)).toHaveProperty('refusal');
      expect(cpuMs(read)).toBeLessThan(150);
    },
  );
});

describe('a target that chooses how keys are agreed on', () => {
  let server: Server;
  afterEach(() => server.close());

  /** The cipher suites and the groups that we offer, as numbers. */
  async function offered(): Promise<{ suites: number[]; groups: number[] }> {
    const hello = new Promise<Buffer>((resolve) => {
      server = createServer((socket) => {
        socket
          .on('error', () => undefined)
          .once('data', (bytes) => {
            socket.destroy();
            resolve(bytes);
          });
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const world = new TargetWorld({ resolve: async () => [four('127.0.0.1')] });
    world.put(adminDocument({ server: `https://target.test:${port}` }));
    const { client } = await world.openTarget();
    await client.get(configMaps, { namespace: 'a', name: 'a' }).catch(() => undefined);
    await world.clients.close();
    return helloOf(await hello);
  }

  it('is offered no group of its own choosing, which may take seconds to calculate with', async () => {
    const { suites, groups } = await offered();
    expect(suites.length).toBeGreaterThan(3);
    expect(suites.filter((suite) => finiteField.has(suite))).toEqual([]);
    expect(groups).toEqual([0x001d, 0x0017, 0x0018, 0x0019]);
  });
});

/** Suites with ephemeral Diffie-Hellman over numbers (DHE_RSA, DHE_DSS, DHE_PSK), by IANA number. */
const finiteField = new Set([
  0x0033, 0x0039, 0x0032, 0x0038, 0x0067, 0x006b, 0x0040, 0x006a, 0x009e, 0x009f, 0x00a2, 0x00a3, 0x0045,
  0x0088, 0x0044, 0x0087, 0x00be, 0x00c4, 0x009a, 0x0099, 0x0016, 0x0013, 0xccaa, 0xccad, 0xc09e, 0xc09f,
  0xc0a2, 0xc0a3, 0xc052, 0xc053, 0xc056, 0xc057, 0xc07c, 0xc07d, 0xc080, 0xc081,
]);

function helloOf(record: Buffer): { suites: number[]; groups: number[] } {
  let at = 5 + 4 + 2 + 32;
  at += 1 + record.readUInt8(at);
  const suites = pairsOf(record.subarray(at + 2, at + 2 + record.readUInt16BE(at)));
  at += 2 + record.readUInt16BE(at);
  at += 1 + record.readUInt8(at);
  const end = at + 2 + record.readUInt16BE(at);
  const groups: number[] = [];
  for (at += 2; at < end; at += 4 + record.readUInt16BE(at + 2)) {
    if (record.readUInt16BE(at) !== 10) continue;
    groups.push(...pairsOf(record.subarray(at + 6, at + 4 + record.readUInt16BE(at + 2))));
  }
  return { suites, groups };
}

const pairsOf = (bytes: Buffer): number[] =>
  Array.from({ length: bytes.length / 2 }, (_, index) => bytes.readUInt16BE(index * 2));
