import { systemNamespace } from '../../api/names.ts';
import { secrets } from '../../api/resources.ts';
import { GatewayCertificateController } from '../gateway-certificate/controller.ts';
import type { Controller } from '../shared/controller.ts';
import type { OperatorContext } from './operator-context.ts';

/** The one key of its queue. */
export const gatewayCertificateKey = 'gateway-certificate';

export function createGatewayCertificateController({
  client,
  settings,
  metrics,
  clock,
  log,
  gatewayAuthority,
  queues,
}: OperatorContext): Controller {
  const controller = new GatewayCertificateController({
    client,
    published: gatewayAuthority,
    baseURL: settings.baseURL,
    now: () => clock.now(),
    log,
    onEnd: (end = 0) => metrics.gatewayCertificateEnd.set(end / 1000),
  });
  return {
    name: 'gateway-certificate',
    resource: secrets,
    namespace: systemNamespace,
    queue: queues['gateway-certificate'],
    workers: 1,
    reconcile: () => controller.reconcile(),
  };
}
