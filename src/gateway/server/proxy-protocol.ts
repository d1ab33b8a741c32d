import type { Socket } from 'node:net';
import { plainAddress } from '../../cidr.ts';
import type { Clock } from '../../kube/clock.ts';

/** The first bytes of a connection, as far as they have come. */
type Reading =
  | { readonly state: 'incomplete' }
  | { readonly state: 'wrong' }
  | {
      readonly state: 'whole';
      /** Bytes of the header. */
      readonly length: number;
      /** Undefined: the proxy speaks for itself, as it does to see whether we are there, or does not know. */
      readonly address: string | undefined;
    };

const incomplete: Reading = { state: 'incomplete' };
const wrong: Reading = { state: 'wrong' };

const textStart = Buffer.from('PROXY ');
/** The longest line of version 1, with its end. */
const maxTextBytes = 107;
const signature = Buffer.from([0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a]);
/** Of the signature, the command, the family and the length. */
const fixedBytes = 16;
/** Behind the addresses a balancer may say more, such as the name of a certificate. Nothing of that is used here. */
const maxMoreBytes = 4_096;

/** Reads a header of the PROXY protocol, version 1 or 2, for connections over TCP. */
export function readProxyHeader(bytes: Buffer): Reading {
  if (beginsAs(bytes, textStart)) return readText(bytes);
  return beginsAs(bytes, signature) ? readBinary(bytes) : wrong;
}

/** As far as there are bytes of it. */
const beginsAs = (bytes: Buffer, start: Buffer): boolean => {
  const length = Math.min(bytes.length, start.length);
  return bytes.subarray(0, length).equals(start.subarray(0, length));
};

function readText(bytes: Buffer): Reading {
  const line = bytes.subarray(0, maxTextBytes).toString('latin1');
  const end = line.indexOf('\r\n');
  if (end < 0) return bytes.length < maxTextBytes ? incomplete : wrong;
  const length = end + 2;
  const parts = line.slice(0, end).split(' ');
  const [, family, source = '', destination = ''] = parts;
  if (family === 'UNKNOWN') return { state: 'whole', length, address: undefined };
  const groups = family === 'TCP4' ? '.' : ':';
  const [address, other] = [plainAddress(source), plainAddress(destination)];
  const isWhole =
    (family === 'TCP4' || family === 'TCP6') && parts.length === 6 && parts.slice(4).every(isPort);
  if (!isWhole || address === undefined || other === undefined) return wrong;
  return source.includes(groups) && destination.includes(groups)
    ? { state: 'whole', length, address }
    : wrong;
}

const isPort = (text: string): boolean => /^(?:0|[1-9]\d{0,4})$/.test(text) && Number(text) < 2 ** 16;

/** By family and transport: bytes of one address. Only TCP is served here. */
const addressBytes: ReadonlyMap<number, number> = new Map([
  [0x11, 4],
  [0x21, 16],
]);

function readBinary(bytes: Buffer): Reading {
  if (bytes.length < fixedBytes) return incomplete;
  const [command = 0, family = 0] = bytes.subarray(signature.length);
  const more = bytes.readUInt16BE(signature.length + 2);
  if (command >> 4 !== 2 || more > maxMoreBytes) return wrong;
  const length = fixedBytes + more;
  const isLocal = command === 0x20;
  const size = addressBytes.get(family);
  if (!isLocal && command !== 0x21) return wrong;
  // Both addresses, and their ports.
  if (!isLocal && family !== 0 && (size === undefined || more < 2 * size + 4)) return wrong;
  if (bytes.length < length) return incomplete;
  if (isLocal || size === undefined) return { state: 'whole', length, address: undefined };
  const address = textOf(bytes.subarray(fixedBytes, fixedBytes + size));
  return { state: 'whole', length, address: plainAddress(address) };
}

const textOf = (bytes: Buffer): string =>
  bytes.length === 4 ? bytes.join('.') : (bytes.toString('hex').match(/.{4}/g)?.join(':') ?? '');

interface HeaderWait {
  readonly clock: Clock;
  /** For the whole header, milliseconds. */
  readonly maxMs: number;
}

/**
 * Takes the header from the connection and leaves what follows it there. `address`: the client; undefined where the proxy names none.
 * Undefined: there is no such header, or it did not come in time.
 */
export async function takeProxyHeader(
  socket: Socket,
  { clock, maxMs }: HeaderWait,
): Promise<{ readonly address: string | undefined } | undefined> {
  const { promise, resolve } = Promise.withResolvers<{ address: string | undefined } | undefined>();
  let bytes = Buffer.alloc(0);
  const onReadable = () => {
    for (let chunk = socket.read() as Buffer | null; chunk !== null; chunk = socket.read()) {
      bytes = Buffer.concat([bytes, chunk]);
    }
    const reading = readProxyHeader(bytes);
    if (reading.state === 'incomplete') return;
    socket.off('readable', onReadable);
    if (reading.state !== 'whole') return resolve(undefined);
    if (bytes.length > reading.length) socket.unshift(bytes.subarray(reading.length));
    resolve({ address: reading.address });
  };
  const giveUp = () => resolve(undefined);
  const timer = clock.setTimer(giveUp, maxMs);
  socket.on('readable', onReadable).once('end', giveUp).once('close', giveUp).once('error', giveUp);
  const header = await promise;
  timer.cancel();
  socket.off('readable', onReadable).off('end', giveUp).off('close', giveUp).off('error', giveUp);
  return header;
}
