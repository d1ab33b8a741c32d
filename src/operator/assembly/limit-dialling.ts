import type { Store } from '../../kube/cache/store.ts';
import { parseKey } from '../../kube/object.ts';
import type { RevocationRecord } from '../certificates/revocation-records.ts';
import { instanceKeyOf } from '../credentials/credential-stores.ts';
import type { Controller } from '../shared/controller.ts';
import { type DialPlace, DialSlots } from '../targets/dial-slots.ts';
import type { ControllerName, OperatorContext } from './operator-context.ts';

interface Dialling {
  readonly placeOf: (key: string) => DialPlace | undefined;
  readonly perTarget: number;
  readonly perTenant: number;
  /** Besides those that the controller has for what dials nothing. */
  readonly moreWorkers?: number;
}

/** Gives controllers that dial targets more workers, and none of them to one tenant alone. */
export function limitDialling(
  { stores, random }: OperatorContext,
  revocations: Store<RevocationRecord>,
): (controller: Controller) => Controller {
  const namespaced = (target: string): DialPlace => {
    const { namespace } = parseKey(target);
    return namespace === undefined ? { target } : { target, tenant: namespace };
  };
  const dialling: Readonly<Partial<Record<ControllerName, Dialling>>> = {
    virtualclusterinstancekubeconfigs: {
      placeOf: (key) => {
        const record = stores.kubeConfig(key);
        return record?.kubeConfig?.clientCert === true ? namespaced(instanceKeyOf(record)) : undefined;
      },
      ...{ perTarget: 4, perTenant: 12 },
    },
    virtualclusterinstances: { placeOf: namespaced, ...{ perTarget: 1, perTenant: 12, moreWorkers: 32 } },
    revocations: {
      placeOf: (key) => {
        const instance = revocations.get(key)?.instance;
        return instance && namespaced(`${instance.namespace}/${instance.name}`);
      },
      ...{ perTarget: 1, perTenant: 4, moreWorkers: 12 },
    },
  };
  return (controller) => {
    const found = dialling[controller.name as ControllerName];
    if (found === undefined) return controller;
    const slots = new DialSlots(found, random);
    const workers = controller.workers + (found.moreWorkers ?? 0);
    return { ...controller, workers, reconcile: slots.guarded(found.placeOf, controller.reconcile) };
  };
}
