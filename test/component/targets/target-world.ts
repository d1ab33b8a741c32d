import { randomUUID } from 'node:crypto';
import type { LookupAddress } from 'node:dns';
import { type Clock, systemClock } from '../../../src/kube/clock.ts';
import { kubeErrorFromStatus } from '../../../src/kube/kube-error.ts';
import type { Logger } from '../../../src/logger.ts';
import { TargetAddresses } from '../../../src/platform/targets/addresses.ts';
import {
  type OpenResult,
  type OpenTarget,
  TargetClients,
  type TargetSource,
} from '../../../src/platform/targets/target-clients.ts';
import { yamlOf } from '../../builders/admin-kube-config.ts';

type Resolve = ConstructorParameters<typeof TargetAddresses>[1];

export interface TargetWorldOptions {
  /** Default: everything, and loopback. */
  readonly allowed?: readonly string[];
  readonly resolve?: Resolve;
  readonly writeGuard?: () => void;
  readonly clock?: Clock;
}

export const everything = ['0.0.0.0/0', '::/0'] as const;
export const withLoopback = [...everything, '127.0.0.0/8', '::1/128'] as const;

/** Clients of targets over a platform that has nothing but Secrets, with all that was logged. */
export class TargetWorld {
  readonly clients: TargetClients;
  readonly source: TargetSource = {
    uid: randomUUID(),
    secret: { namespace: 'p-one', name: 'vc-one', key: 'config' },
  };
  readonly logged: string[] = [];
  readonly changes: string[] = [];
  /** By UID: the authorities of targets in which something is still to be revoked. */
  readonly owed = new Map<string, string>();
  /** The data of the Secret; `undefined`: there is none. */
  data: Record<string, string> | undefined;
  /** Replaces the platform's answer. */
  answer: () => Promise<unknown> = async () => {
    if (this.data === undefined) throw kubeErrorFromStatus({ verb: 'GET', path: '/' }, 404, undefined);
    return { metadata: { name: 'vc-one' }, data: this.data };
  };

  constructor(options: TargetWorldOptions = {}) {
    const { allowed = withLoopback, resolve, writeGuard = () => undefined, clock = systemClock } = options;
    const note = (keys: object, message: string) => void this.logged.push(JSON.stringify([keys, message]));
    const log: Logger = { debug: note, info: note, warn: note, error: note };
    this.clients = new TargetClients({
      platform: { get: () => this.answer() as never },
      addresses: new TargetAddresses(allowed, resolve),
      clock,
      random: Math.random,
      log,
      userAgent: 'tester/1',
      writeGuard,
      isOwed: (uid, { ca }) => this.owed.get(uid) === ca,
    });
    this.clients.subscribe((uid) => this.changes.push(uid));
  }

  /** Puts a document, an object or its bytes, into the Secret. */
  put(document: unknown): void {
    const bytes = document instanceof Uint8Array ? document : yamlOf(document);
    this.data = { config: Buffer.from(bytes).toString('base64') };
  }

  open(): Promise<OpenResult> {
    return this.clients.open(this.source);
  }

  async openTarget(): Promise<OpenTarget> {
    const result = await this.open();
    if ('problem' in result) throw new Error(result.problem.message);
    return result.target;
  }

  async openProblem(): Promise<{ reason: string; message: string }> {
    const result = await this.open();
    if ('target' in result) throw new Error('the target was opened');
    return result.problem;
  }
}

export const four = (address: string): LookupAddress => ({ address, family: 4 });
