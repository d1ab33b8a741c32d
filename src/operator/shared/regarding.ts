import { apiVersion } from '../../api/names.ts';
import type { RegardingObject } from '../../kube/events/event-object.ts';

/** An object that events are about; the records of all kinds fit. */
export interface EventSubject {
  readonly kind: string;
  /** `name`, or `namespace/name`. */
  readonly key: string;
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

/** The reference that an event holds. */
export function regarding({ kind, name, namespace, uid, resourceVersion }: EventSubject): RegardingObject {
  return {
    kind,
    apiVersion,
    name,
    uid,
    resourceVersion,
    ...(namespace === undefined ? {} : { namespace }),
  };
}
