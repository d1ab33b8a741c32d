import { randomBytes } from 'node:crypto';
import { AccessKeyController } from '../credentials/access-keys/controller.ts';
import { LoginSecrets } from '../credentials/access-keys/login-secrets.ts';
import type { Controller } from '../shared/controller.ts';
import { credentialController, type OperatorContext } from './operator-context.ts';

export function createAccessKeyController(context: OperatorContext): Controller {
  const { client, settings, events, credentials } = context;
  const kind = 'OwnedAccessKey';
  const controller = new AccessKeyController({
    ...credentials.of(kind),
    loginSecrets: new LoginSecrets(client, events),
    limits: {
      activityInterval: settings.activityIntervalMs,
      expiredRetention: settings.expiredRetentionMs,
    },
    randomBytes: (count) => randomBytes(count),
  });
  return credentialController(context, kind, (key) => controller.reconcile(key));
}
