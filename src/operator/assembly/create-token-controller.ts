import { TokenController } from '../credentials/tokens/controller.ts';
import type { Controller } from '../shared/controller.ts';
import { credentialController, issuedLimits, mayIssue, type OperatorContext } from './operator-context.ts';

export function createTokenController(context: OperatorContext): Controller {
  const { settings, credentials, ring } = context;
  const kind = 'DirectClusterEndpointToken';
  const controller = new TokenController({
    ...credentials.of(kind),
    ring,
    issuer: settings.baseURL,
    limits: issuedLimits(settings, settings.maxTokenTTLSeconds),
    assertMayIssue: mayIssue(context),
  });
  return credentialController(context, kind, (key) => controller.reconcile(key));
}
