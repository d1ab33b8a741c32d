import { randomBytes } from 'node:crypto';
import { ownedAccessKeys } from '../../api/resources.ts';
import { AccessKeyController } from '../credentials/access-keys/controller.ts';
import { LoginSecrets } from '../credentials/access-keys/login-secrets.ts';
import type { Controller } from '../shared/controller.ts';
import { finalizerLimitOf, type OperatorContext } from './operator-context.ts';

export function createAccessKeyController(context: OperatorContext): Controller {
  const { client, settings, clock, events, stores, parts, expiryBudget, queues, trustedSince } = context;
  const writer = parts.writer(ownedAccessKeys, stores.writtenKeys);
  const controller = new AccessKeyController({
    stores,
    writer,
    secrets: parts.secrets,
    loginSecrets: new LoginSecrets(client, events),
    finalizer: parts.finalizer('OwnedAccessKey', writer, finalizerLimitOf(context, 'OwnedAccessKey')),
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
