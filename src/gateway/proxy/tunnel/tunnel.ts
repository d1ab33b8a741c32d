import type { Socket } from 'node:net';
import { type Duplex, Writable } from 'node:stream';
import type { Clock, Timer } from '../../../kube/clock.ts';
import type { UpgradedResponse } from '../../server/upgraded-response.ts';
import { StallGuard } from '../../turns/stall-guard.ts';
import { Pump, type PumpOptions } from './pump.ts';
import { closeFrame, WebSocketFrames } from './websocket-frames.ts';

export interface TunnelOptions {
  readonly response: UpgradedResponse;
  /** It is paused. */
  readonly upstream: Duplex;
  /** The first text for the client. */
  readonly head: string;
  readonly isWebSocket: boolean;
  readonly user: PumpOptions['user'];
  readonly turn: PumpOptions['turn'];
  /** Called when a person may have typed something. */
  readonly onInput: () => void;
  readonly clock: Clock;
  /** The longest that it may live; 0: no limit. */
  readonly maxMs: number;
}

/**
 * When the target has ended: for the client to take what was read before. It is half a megabyte, in pieces of up to 256 KiB, and what the
 * system holds. Without progress it is given up sooner, but a client that takes 5 kB/s makes some.
 */
const tail = { stallMs: 60_000, maxMs: 300_000 };
/** When the client has ended, for the target. No revocation cuts that any more, so it is short. */
const lastInput = { stallMs: 5_000, maxMs: 5_000 };
/** When a tunnel is cut: for the client to take the reason. */
const reasonMs = 200;
/** When one side has ended: bytes of the other that are thrown away. */
const maxDiscarded = 32 * 2 ** 20;
const probeMs = 30_000;
const tooOld = 'the session is as old as the gateway lets one get (LATCHKEY_SESSION_MAX)';

/**
 * Bytes both ways, until one side ends or the tunnel is cut. When one side ends the other gets what came before, and ends too: what
 * goes through here has ends of its own inside, and no use for half a connection.
 */
export class Tunnel {
  readonly #options: TunnelOptions;
  readonly #client: Socket;
  readonly #frames: WebSocketFrames | undefined;
  readonly #pumps: readonly Pump[];
  #guard: StallGuard | undefined;
  #timer: Timer | undefined;
  #isOver = false;
  #isCut = false;

  /** Takes both connections over. */
  constructor(options: TunnelOptions) {
    const { upstream, response, user, turn, isWebSocket, onInput } = options;
    this.#options = options;
    const { socket: client, early } = response.handOver((why) => this.#cut(why));
    this.#client = client;
    this.#frames = isWebSocket ? new WebSocketFrames() : undefined;
    const onBytes = (bytes: Buffer) => this.#frames?.read(bytes);
    const onClientBytes = (bytes: Buffer) => {
      if (isInput(bytes, isWebSocket)) onInput();
    };
    const onTaken = () => this.#guard?.progress();
    const toClient = new Pump({ from: upstream, to: client, user, turn, onBytes, onTaken });
    const toUpstream = new Pump({ from: client, to: upstream, user, turn, onBytes: onClientBytes, onTaken });
    this.#pumps = [toClient, toUpstream];
    this.#follow(client, upstream, toUpstream);
    this.#follow(upstream, client, toClient);
    for (const bytes of early) upstream.write(bytes);
  }

  start(): void {
    const { clock, maxMs, head } = this.#options;
    if (maxMs > 0) this.#timer = clock.setTimer(() => this.#cut(tooOld), maxMs);
    this.#client.setKeepAlive(true, probeMs).setNoDelay(true);
    this.#client.write(head, 'latin1');
    for (const pump of this.#pumps) pump.start();
  }

  #follow(side: Duplex, other: Duplex, pump: Pump): void {
    side
      .on('error', () => undefined)
      .once('end', () => this.#end(other, pump))
      .once('close', () => this.#end(other, pump));
  }

  /** `pump`: to the other side. */
  #end(other: Duplex, pump: Pump): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#timer?.cancel();
    for (const each of this.#pumps) if (each !== pump) each.stop();
    const destroy = () => this.#destroy();
    if (other.destroyed) return destroy();
    const { clock } = this.#options;
    const { stallMs, maxMs } = other === this.#client ? tail : lastInput;
    this.#guard = new StallGuard(clock, stallMs, destroy);
    this.#timer = clock.setTimer(destroy, maxMs);
    other.once('end', destroy).once('close', destroy);
    // Bytes that the system still sends to a slow client cannot be seen, and are lost if the client writes to a closed connection.
    if (other === this.#client) other.once('finish', () => this.#guard?.stop());
    pump.end();
    // To close it while bytes of it are unread would take back what was written last.
    let discarded = 0;
    const onBytes = (bytes: Buffer) => {
      discarded += bytes.length;
      if (discarded > maxDiscarded) destroy();
    };
    // To read them takes time, which counts for the user like that of all others.
    const { user, turn } = this.#options;
    new Pump({ from: other, to: nowhere(), user, turn, onBytes }).start();
  }

  /** At once for both sides. The client of a websocket is told why, where a frame of ours can stand. */
  #cut(why: string): void {
    // The reason is on its way.
    if (this.#isCut) return;
    this.#isCut = true;
    const { upstream, clock } = this.#options;
    const mayTell = !this.#isOver && this.#frames?.mayAdd === true && this.#client.writable;
    this.#isOver = true;
    // First: nothing that the client has sent may still reach the target.
    upstream.destroy();
    for (const pump of this.#pumps) pump.stop();
    this.#stopTimers();
    if (!mayTell) return void this.#client.destroy();
    this.#timer = clock.setTimer(() => this.#destroy(), reasonMs);
    // Closing with bytes unread would take the reason back.
    this.#client
      .once('end', () => this.#destroy())
      .once('close', () => this.#timer?.cancel())
      .resume()
      .end(closeFrame(why));
  }

  #stopTimers(): void {
    this.#timer?.cancel();
    this.#guard?.stop();
  }

  #destroy(): void {
    this.#stopTimers();
    this.#client.destroy();
    this.#options.upstream.destroy();
  }
}

/** Uploads come in larger pieces. */
const maxInput = 4_096;
/** A control frame with its type, as SPDY/3.1 writes them. */
const spdyPing = [0x80, 0x03, 0x00, 0x06];

/** Whether it may be what a person types. kubectl says every five seconds that it is still there, and that is none. */
function isInput(bytes: Buffer, isWebSocket: boolean): boolean {
  if (bytes.length > maxInput) return false;
  const isControlFrame = isWebSocket
    ? ((bytes[0] ?? 0) & 0x08) !== 0
    : spdyPing.every((byte, index) => bytes[index] === byte);
  return !isControlFrame;
}

const nowhere = (): Writable => new Writable({ write: (_bytes, _encoding, taken) => taken() });
