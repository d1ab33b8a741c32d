import { directClusterEndpointTokens } from '../../api/resources.ts';
import { TokenController } from '../credentials/tokens/controller.ts';
import type { Controller } from '../shared/controller.ts';
import { finalizerLimitOf, issuedLimits, type Wiring } from './operator-context.ts';

export function wireTokens(wiring: Wiring): Controller {
  const { settings, clock, stores, parts, expiryBudget, queues, trustedSince, ring } = wiring;
  const writer = parts.writer(directClusterEndpointTokens, stores.writtenTokens);
  const limit = finalizerLimitOf(wiring, 'DirectClusterEndpointToken');
  const controller = new TokenController({
    stores,
    writer,
    secrets: parts.secrets,
    finalizer: parts.finalizer('DirectClusterEndpointToken', writer, limit),
    ring,
    expiryBudget,
    issuer: settings.baseURL,
    limits: issuedLimits(settings, settings.maxTokenTTLSeconds),
    now: () => clock.now(),
    trustedSince,
    assertMayIssue: () => {
      wiring.assertLeading();
      wiring.assertAdmission();
    },
  });
  return {
    name: 'directclusterendpointtokens',
    resource: directClusterEndpointTokens,
    queue: queues.directclusterendpointtokens,
    workers: settings.concurrency,
    reconcile: (key) => controller.reconcile(key),
  };
}
