import { randomBytes } from 'node:crypto';
import { systemNamespace } from '../api/names.ts';
import { directClusterEndpointTokens, ownedAccessKeys, secrets } from '../api/resources.ts';
import { defaultSigningKeyPolicy, type SigningKeyPolicy } from '../credentials/signing-keys.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Clock } from '../kube/clock.ts';
import type { Logger } from '../kube/logger.ts';
import { Store, type StoredRecord } from '../kube/store.ts';
import { WorkQueue } from '../kube/work-queue.ts';
import type { Settings } from '../settings.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Controller } from './controller.ts';
import { TokenController } from './controllers/directclusterendpointtoken/controller.ts';
import { KeyController } from './controllers/ownedaccesskey/controller.ts';
import { LoginSecrets } from './controllers/ownedaccesskey/login-secrets.ts';
import { SigningKeyController } from './controllers/signingkeys/controller.ts';
import { KeyRing } from './controllers/signingkeys/key-ring.ts';
import { countCredentials } from './credential/credential-counts.ts';
import type { CredentialEvents } from './credential/credential-events.ts';
import { CredentialParts } from './credential/credential-parts.ts';
import { CredentialStores } from './credential/credential-stores.ts';
import { ExpiryBudget } from './credential/expiry-budget.ts';
import { wireWakeUps } from './credential/wake-ups.ts';

export interface ControllersOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly events: CredentialEvents;
  readonly settings: Settings;
  readonly metrics: Metrics;
  /** Throws while nothing new may be confirmed. */
  readonly assertAdmission: () => void;
  /** Since when the policies stamp who asks, epoch milliseconds; 0 while that is not known. */
  readonly trustedSince: () => number;
  /** Throws when this process does not lead for certain. */
  readonly assertLeading: () => void;
}

/** As they stand in metrics and logs. */
export const controllerNames = ['ownedaccesskeys', 'directclusterendpointtokens', 'signing-keys'] as const;

/** How long a deleted object may wait for its clean-up, milliseconds. */
export const finalizerLimits = { OwnedAccessKey: 60_000, DirectClusterEndpointToken: 5_000 } as const;

/** The controllers of one term of leadership, with stores of their own: nothing is carried over from an earlier term. */
export class Controllers {
  readonly stores: CredentialStores;
  readonly system = { signingKeys: new Store<StoredRecord>(), discovery: new Store<StoredRecord>() };
  readonly all: readonly Controller[];
  readonly #options: ControllersOptions;
  readonly #parts: CredentialParts;
  readonly #expiryBudget: ExpiryBudget;
  readonly #queues: { readonly keys: WorkQueue; readonly tokens: WorkQueue; readonly signingKeys: WorkQueue };
  readonly #ring: KeyRing;

  constructor(options: ControllersOptions) {
    const { clock, client, events, metrics, settings } = options;
    this.#options = options;
    this.stores = new CredentialStores(clock);
    this.#queues = {
      keys: this.#queue('ownedaccesskeys'),
      tokens: this.#queue('directclusterendpointtokens'),
      signingKeys: this.#queue('signing-keys'),
    };
    this.#ring = new KeyRing(() => this.#wakeAllTokens());
    const onWaiting = (count: number) => metrics.expiryWaiting.set(count);
    this.#expiryBudget = new ExpiryBudget(clock, settings.expiryWritesPerSecond, onWaiting);
    const onReleased = (kind: string) => metrics.finalizersReleased.inc({ kind });
    const { assertAdmission } = options;
    this.#parts = new CredentialParts({
      client,
      clock,
      events,
      stores: this.stores,
      onReleased,
      assertAdmission,
    });
    this.#wire();
    this.all = [this.#signingKeys(), this.#keys(), this.#tokens()];
  }

  /** For a health check: whether tokens can be signed. */
  get hasSigningKey(): boolean {
    return this.#ring.signer !== undefined;
  }

  #queue(name: (typeof controllerNames)[number]): WorkQueue {
    const { clock, random, metrics } = this.#options;
    return new WorkQueue({ clock, random, maxBackOffMs: 60_000, onAdd: metrics.forController(name).added });
  }

  #wire(): void {
    const { signingKeys } = this.#queues;
    const { credentials } = this.#options.metrics;
    credentials.reset();
    countCredentials(this.stores.keys, credentials);
    countCredentials(this.stores.tokens, credentials);
    wireWakeUps(this.stores, this.#queues);
    for (const store of [this.stores.keys, this.stores.tokens]) {
      store.subscribe(({ previous, current }) => {
        if (previous !== undefined && current === undefined) this.#expiryBudget.forget(previous.uid);
      });
    }
    this.system.signingKeys.subscribe(() => signingKeys.add(signingKeysKey));
    this.system.discovery.subscribe(() => signingKeys.add(signingKeysKey));
    signingKeys.add(signingKeysKey);
  }

  /** Looks at every credential again. */
  wakeAll(): void {
    for (const key of this.stores.keys.keys()) this.#queues.keys.add(key);
    this.#wakeAllTokens();
  }

  #wakeAllTokens(): void {
    for (const key of this.stores.tokens.keys()) this.#queues.tokens.add(key);
  }

  #keys(): Controller {
    const { client, settings, clock, events } = this.#options;
    const writer = this.#parts.writer(ownedAccessKeys, this.stores.writtenKeys);
    const controller = new KeyController({
      stores: this.stores,
      writer,
      secrets: this.#parts.secrets,
      loginSecrets: new LoginSecrets(client, events),
      finalizer: this.#parts.finalizer('OwnedAccessKey', writer, finalizerLimits.OwnedAccessKey),
      expiryBudget: this.#expiryBudget,
      limits: {
        activityInterval: settings.activityIntervalMs,
        expiredRetention: settings.expiredRetentionMs,
      },
      now: () => clock.now(),
      trustedSince: this.#options.trustedSince,
      randomBytes: (count) => randomBytes(count),
    });
    return {
      name: 'ownedaccesskeys',
      resource: ownedAccessKeys,
      queue: this.#queues.keys,
      workers: settings.concurrency,
      reconcile: (key) => controller.reconcile(key),
    };
  }

  #tokens(): Controller {
    const { settings, clock, assertLeading, assertAdmission } = this.#options;
    const writer = this.#parts.writer(directClusterEndpointTokens, this.stores.writtenTokens);
    const controller = new TokenController({
      stores: this.stores,
      writer,
      secrets: this.#parts.secrets,
      finalizer: this.#parts.finalizer(
        'DirectClusterEndpointToken',
        writer,
        finalizerLimits.DirectClusterEndpointToken,
      ),
      ring: this.#ring,
      expiryBudget: this.#expiryBudget,
      issuer: settings.baseURL,
      limits: {
        activityInterval: settings.activityIntervalMs,
        expiredRetention: settings.expiredRetentionMs,
        rotationOverlap: settings.rotationOverlapMs,
        maxTTL: settings.maxTokenTTLSeconds,
      },
      now: () => clock.now(),
      trustedSince: this.#options.trustedSince,
      assertMayIssue: () => {
        assertLeading();
        assertAdmission();
      },
    });
    return {
      name: 'directclusterendpointtokens',
      resource: directClusterEndpointTokens,
      queue: this.#queues.tokens,
      workers: settings.concurrency,
      reconcile: (key) => controller.reconcile(key),
    };
  }

  #signingKeys(): Controller {
    const { client, settings, metrics, clock, log } = this.#options;
    const controller = new SigningKeyController({
      client,
      ring: this.#ring,
      issuer: settings.baseURL,
      policy: signingKeyPolicy(settings),
      now: () => clock.now(),
      log,
      onSettled: (active) => {
        metrics.signingKeyCreated.set(active.createdAt / 1000);
        metrics.signingKeyRotation.set((active.activeFrom + settings.signingKeyRotationMs) / 1000);
      },
    });
    return {
      name: 'signing-keys',
      resource: secrets,
      namespace: systemNamespace,
      queue: this.#queues.signingKeys,
      workers: 1,
      reconcile: () => controller.reconcile(),
    };
  }
}

const signingKeysKey = 'signing-keys';

/** A key is published well before it signs, also where keys are replaced often. */
function signingKeyPolicy({
  signingKeyRotationMs: rotation,
  maxTokenTTLSeconds,
}: Settings): SigningKeyPolicy {
  const publishAhead = Math.min(defaultSigningKeyPolicy.publishAhead, rotation / 2);
  return { ...defaultSigningKeyPolicy, rotation, publishAhead, maxTokenLife: maxTokenTTLSeconds };
}
