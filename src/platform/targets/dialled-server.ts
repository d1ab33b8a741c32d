import { asObject, asText, type JsonObject } from '../../api/json.ts';
import { parseServer } from './admin-kubeconfig/fields.ts';

/** Which server is dialled with an administrator kubeconfig. Without any of these: the one that it names. */
export interface ServerChoice {
  /** `spec.server` of an instance. */
  readonly server?: string;
  /** The Service of a virtual cluster, as an https URL: what {@link portForward} means beside its Secret. */
  readonly service?: string;
}

/** The server that a vCluster writes unless its values name another one: where a port-forward ends on the machine of a person. */
const portForward = 'https://localhost:8443/';

/** `undefined`: `spec.server` is no https URL without user name, password, query and fragment. */
export function chooseServer(written: URL, { server, service }: ServerChoice): URL | undefined {
  if (server !== undefined) return readServer(server);
  return service !== undefined && written.href === portForward ? new URL(service) : written;
}

function readServer(text: string): URL | undefined {
  try {
    return parseServer(text);
  } catch {
    return undefined;
  }
}

/**
 * The Service of a virtual cluster in the namespace of its Secret, by the two names in its certificate. One that runs in
 * a connected cluster has none here.
 */
export function findService(virtualCluster: string, namespace: string, spec: JsonObject): string | undefined {
  const isElsewhere = asText(asObject(spec['clusterRef'])['cluster']) !== undefined;
  if (isElsewhere || !/^[a-z0-9-]{1,63}$/.test(virtualCluster)) return undefined;
  const host = `${virtualCluster}.${namespace}`;
  // The names 10 and 1 together are the address 10.0.0.1, which is no one's Service.
  return URL.parse(`https://${host}`)?.hostname === host ? `https://${host}` : undefined;
}
