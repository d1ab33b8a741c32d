import { systemNamespace } from '../../api/names.ts';
import { secrets } from '../../api/resources.ts';
import { defaultSigningKeyPolicy, type SigningKeyPolicy } from '../../credentials/tokens/signing-key-plan.ts';
import type { OperatorSettings } from '../../settings/operator.ts';
import type { Controller } from '../shared/controller.ts';
import { SigningKeyController } from '../signing-keys/controller.ts';
import type { OperatorContext } from './operator-context.ts';

/** The one key of its queue. */
export const signingKeysKey = 'signing-keys';

export function createSigningKeyController({
  client,
  settings,
  metrics,
  clock,
  log,
  events,
  ring,
  queues,
}: OperatorContext): Controller {
  const controller = new SigningKeyController({
    client,
    ring,
    issuer: settings.baseURL,
    policy: signingKeyPolicy(settings),
    now: () => clock.now(),
    log,
    events,
    onActive: (active) => {
      metrics.signingKeyCreated.set(active.createdAt / 1000);
      metrics.signingKeyRotation.set((active.activeFrom + settings.signingKeyRotationMs) / 1000);
    },
  });
  return {
    name: 'signing-keys',
    resource: secrets,
    namespace: systemNamespace,
    queue: queues['signing-keys'],
    workers: 1,
    reconcile: () => controller.reconcile(),
  };
}

/** A key is published well before it signs, also where keys are replaced often, and until nothing it signed can be valid. */
function signingKeyPolicy(settings: OperatorSettings): SigningKeyPolicy {
  const { signingKeyRotationMs: rotation, maxTokenTTLSeconds, maxKubeConfigTTLSeconds } = settings;
  const publishAhead = Math.min(defaultSigningKeyPolicy.publishAhead, rotation / 2);
  const maxTokenLife = Math.max(maxTokenTTLSeconds, maxKubeConfigTTLSeconds);
  return { ...defaultSigningKeyPolicy, rotation, publishAhead, maxTokenLife };
}
