import type { Duplex } from 'node:stream';
import type { Clock } from '../../../kube/clock.ts';
import type { UpgradedResponse } from '../../server/upgraded-response.ts';
import { BadResponse } from '../http/response-head.ts';
import { Tunnel, type TunnelOptions } from './tunnel.ts';
import { switchingHead } from './upgrade-answer.ts';
import type { UpgradeRequest } from './upgrade-request.ts';

/** A request that may become a tunnel. */
export interface AskedTunnel {
  readonly request: UpgradeRequest;
  readonly response: UpgradedResponse;
  /** The longest that it may live, milliseconds; 0: no limit. */
  readonly maxMs: number;
  /** A person may have typed something. */
  readonly onInput: () => void;
}

export interface TunnelPlace {
  readonly tunnel?: AskedTunnel | undefined;
  readonly turn: () => Promise<void>;
  /** So many bytes were received or sent by the main thread. */
  readonly charge: (bytes: number) => void;
  readonly send: Pick<TunnelOptions, 'user'>;
  readonly clock: Clock;
}

/** The target's side, after its 101. */
export interface SwitchedUpstream {
  readonly upstream: Duplex;
  readonly rawHeaders: readonly string[];
}

/** Passes a 101 on, and everything behind it. Throws BadResponse where it does not fit what was asked for. */
export function openTunnel(
  { tunnel, turn: ownTurn, charge, send, clock }: TunnelPlace,
  { upstream, rawHeaders }: SwitchedUpstream,
): void {
  if (tunnel === undefined) throw new BadResponse('it switches protocols unasked');
  const { request, response, maxMs, onInput } = tunnel;
  const head = switchingHead(request, rawHeaders);
  response.statusCode = 101;
  const isWebSocket = request.protocol === 'websocket';
  const { user } = send;
  // Each piece goes on as it comes, so it leaves less to collect as garbage than a body that is received whole.
  const turn = async (bytes: number): Promise<void> => {
    charge(bytes);
    await ownTurn();
  };
  new Tunnel({ response, upstream, head, isWebSocket, user, turn, onInput, clock, maxMs }).start();
}
