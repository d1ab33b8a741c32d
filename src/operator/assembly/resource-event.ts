import type { Controller } from '../shared/controller.ts';

export type ResourceEvent = import('@dot-i/k8s-operator').ResourceEvent;

/** What the base class calls an event. Only the key counts: reconciling is level-based. */
export function eventOf({ resource, namespace }: Controller, key: string): ResourceEvent {
  const [first = '', second] = key.split('/');
  const name = second ?? first;
  const apiVersion = resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
  const place = second === undefined ? namespace : first;
  const meta = {
    id: `${resource.plural}.${apiVersion}`,
    name,
    apiVersion,
    kind: resource.kind,
    resourceVersion: '0',
  };
  const metadata = { name, ...(place === undefined ? {} : { namespace: place }) };
  return {
    meta: { ...meta, ...(place === undefined ? {} : { namespace: place }) },
    type: 'MODIFIED' as ResourceEvent['type'],
    object: { apiVersion, kind: resource.kind, metadata },
  };
}
