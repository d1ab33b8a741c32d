import { directClusterEndpointTokens } from '../../api/resources.ts';
import { TokenController } from '../credentials/tokens/controller.ts';
import type { Controller } from '../shared/controller.ts';
import { finalizerLimitOf, issuedLimits, type OperatorContext } from './operator-context.ts';

export function createTokenController(context: OperatorContext): Controller {
  const { settings, clock, stores, parts, expiryBudget, queues, trustedSince, ring } = context;
  const writer = parts.writer(directClusterEndpointTokens, stores.writtenTokens);
  const limit = finalizerLimitOf(context, 'DirectClusterEndpointToken');
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
      context.assertLeading();
      context.assertAdmission();
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
