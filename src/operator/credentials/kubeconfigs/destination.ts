import { hash } from 'node:crypto';
import { canonicalJson } from '../../../api/canonical-json.ts';
import { defined } from '../../../api/json.ts';
import { kubeConfigNames } from '../../../credentials/kubeconfig-document.ts';
import type { CredentialRecord } from '../../../credentials/record.ts';
import type { VirtualClusterInstanceRecord } from '../../../platform/targets/target-record.ts';
import { apiPrefix, formatTarget, projectOfNamespace } from '../../../scope/request-path.ts';
import type { GatewayAddress } from '../gateway-address.ts';
import type { IssuedInput } from '../issued/issued-steps.ts';

/** All that a decision about one kubeconfig depends on. */
export interface KubeConfigInput extends IssuedInput {
  /** The instance of the name in spec, whatever its UID. */
  readonly instance?: VirtualClusterInstanceRecord;
  /** PEM of the authority that vouches for the virtual cluster's API server; absent: not known now. */
  readonly targetCA?: string;
  readonly gateway: GatewayAddress;
}

/** The destination in a kubeconfig. When it changes, another kubeconfig is issued. */
export interface Destination {
  /** An https URL. */
  readonly server: string;
  /** PEM. */
  readonly ca?: string;
  /** The role of the certificate inside. */
  readonly clusterRole?: string;
}

/** `status.targetHash`. */
export function targetHashOf(destination: Destination): string {
  return hash('sha256', canonicalJson(destination), 'hex');
}

/** Whether what was issued leads where a new one would; `unknown` before the target's kubeconfig was read. */
export function directionOf(input: KubeConfigInput): 'right' | 'wrong' | 'unknown' {
  const { record, instance, targetCA, gateway } = input;
  const isDirect = record.kubeConfig?.clientCert === true;
  if (isDirect && (instance === undefined || (targetCA === undefined && directServer(record, instance))))
    return 'unknown';
  if (!isDirect && gateway.isCAPending === true) return 'unknown';
  const right = isDirect
    ? [instance && directDestination(record, instance, targetCA ?? '')]
    : gatewayDestinations(record, gateway);
  const leadsTo = (place: Destination | undefined): boolean =>
    place !== undefined && record.status.targetHash === targetHashOf(place);
  return right.some(leadsTo) ? 'right' : 'wrong';
}

/** The destination of a kubeconfig issued now, and the parts of earlier ones that are still good. */
function gatewayDestinations(
  record: CredentialRecord,
  gateway: GatewayAddress,
): readonly (Destination | undefined)[] {
  const places = [gateway, ...(gateway.earlierCAs ?? []).map((ca) => ({ ...gateway, ca }))];
  return places.map((place) => gatewayDestination(record, place));
}

/** Of a kubeconfig with a token. Undefined outside of a project. */
export function gatewayDestination(
  record: CredentialRecord,
  gateway: GatewayAddress,
): Destination | undefined {
  const project = projectOf(record, gateway);
  if (project === undefined) return undefined;
  const path = formatTarget({ kind: 'virtualCluster', project, virtualCluster: instanceNameOf(record) });
  const server = record.kubeConfig?.server ?? (path && `${gateway.issuer}${apiPrefix}${path}`);
  return server !== undefined && isServer(server) ? { server, ...defined({ ca: gateway.ca }) } : undefined;
}

/** Of a kubeconfig with a client certificate. Undefined without an address. */
export function directDestination(
  record: CredentialRecord,
  instance: VirtualClusterInstanceRecord,
  ca: string,
): Destination | undefined {
  const server = directServer(record, instance);
  return server === undefined ? undefined : { server, ca, clusterRole: instance.clusterRole };
}

/** The address of the virtual cluster itself; undefined where none is given. */
export function directServer(
  { kubeConfig }: CredentialRecord,
  { ingressHost }: VirtualClusterInstanceRecord,
): string | undefined {
  const server = kubeConfig?.server ?? (ingressHost === undefined ? undefined : `https://${ingressHost}`);
  return server !== undefined && isServer(server) ? server : undefined;
}

/** The project that the namespace belongs to. */
export function projectOf(
  { namespace = '' }: CredentialRecord,
  { projectNamespacePrefix: prefix }: Pick<GatewayAddress, 'projectNamespacePrefix'>,
): string | undefined {
  return projectOfNamespace(namespace, prefix);
}

const instanceNameOf = ({ kubeConfig, name }: CredentialRecord): string => kubeConfig?.instance ?? name;

/** Of cluster, user and context in the document. */
export function namesOf(record: CredentialRecord): string {
  const { namespace = '', name } = record;
  return kubeConfigNames({ namespace, instance: instanceNameOf(record), object: name });
}

/** The schema refuses anything else; an object that is older than its rules may hold it. */
function isServer(server: string): boolean {
  return /^https:\/\/[^/?#@\\\s\p{Cc}]+(\/[^?#\\\s\p{Cc}]*)?$/u.test(server) && URL.canParse(server);
}
