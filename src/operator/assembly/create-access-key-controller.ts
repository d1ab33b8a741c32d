import { randomBytes } from 'node:crypto';
import { ownedAccessKeys } from '../../api/resources.ts';
import { KeyController } from '../credentials/access-keys/controller.ts';
import { LoginSecrets } from '../credentials/access-keys/login-secrets.ts';
import type { Controller } from '../shared/controller.ts';
import { finalizerLimitOf, type Wiring } from './operator-context.ts';

export function wireKeys(wiring: Wiring): Controller {
  const { client, settings, clock, events, stores, parts, expiryBudget, queues, trustedSince } = wiring;
  const writer = parts.writer(ownedAccessKeys, stores.writtenKeys);
  const controller = new KeyController({
    stores,
    writer,
    secrets: parts.secrets,
    loginSecrets: new LoginSecrets(client, events),
    finalizer: parts.finalizer('OwnedAccessKey', writer, finalizerLimitOf(wiring, 'OwnedAccessKey')),
    expiryBudget,
    limits: {
      activityInterval: settings.activityIntervalMs,
      expiredRetention: settings.expiredRetentionMs,
    },
    now: () => clock.now(),
    trustedSince,
    randomBytes: (count) => randomBytes(count),
  });
  return {
    name: 'ownedaccesskeys',
    resource: ownedAccessKeys,
    queue: queues.ownedaccesskeys,
    workers: settings.concurrency,
    reconcile: (key) => controller.reconcile(key),
  };
}
