import { X509Certificate } from 'node:crypto';
import { asObject, asText, defined, type JsonObject, parseJSON } from '../../api/json.ts';
import { Failure, printable } from '../shared/failure.ts';
import type { Target } from '../targets/targets.ts';
import { isUnder } from './gateway-server.ts';

/** The place that a Kubernetes client says it will send the credential to. */
export interface ExecCluster {
  readonly server: string;
  /** PEM. */
  readonly ca?: string;
  /** Fields by which the client could reach another place than the name of the server says. */
  readonly detours: readonly string[];
  /** Of the extension `client.authentication.k8s.io/exec`. */
  readonly config: JsonObject;
}

const detours = ['proxy-url', 'insecure-skip-tls-verify', 'tls-server-name'] as const;

/** `info`: KUBERNETES_EXEC_INFO. Undefined: no client asks, or it does not tell. */
export function readExecCluster(info: string | undefined): ExecCluster | undefined {
  const cluster = asObject(asObject(asObject(parseJSON(info ?? ''))['spec'])['cluster']);
  const server = asText(cluster['server']);
  if (server === undefined) return undefined;
  const data = asText(cluster['certificate-authority-data']);
  return defined({
    ...{ server, config: asObject(cluster['config']) },
    ca: data === undefined ? undefined : Buffer.from(data, 'base64').toString('utf8'),
    detours: detours.filter((name) => Boolean(cluster[name])),
  });
}

/** Refuses a key for a server that is not behind the gateway: it would have the key. */
export function assertAtGateway(cluster: ExecCluster | undefined, baseURL: string): void {
  if (cluster === undefined || isUnder(cluster.server, baseURL)) return;
  throw refusal(
    `the server ${shown(cluster.server)} is not behind the gateway ${baseURL}`,
    'Use a server that begins with the base URL, or name its gateway with `--base-url`.',
  );
}

/** A place that gets the credential, as the platform or its user names it. */
export interface TrustedPlace {
  readonly baseURL: string;
  /** PEM. Absent: what this system trusts. */
  readonly ca?: string | undefined;
}

/**
 * Refuses the credential unless the client goes to this target at this place, and nowhere else. A ClusterProfile may be changed by
 * others: the server, its authority and the way to it.
 */
export function assertLeadsTo(cluster: ExecCluster, target: Target, place: TrustedPlace): void {
  const wanted = `${place.baseURL}/kubernetes${target.path}`;
  if (cluster.server !== wanted)
    throw refusal(
      `the server of ${target.name} is ${wanted}, and not ${shown(cluster.server)}`,
      'Somebody has changed the ClusterProfile, or the base URL has changed. Do not use it before you know.',
    );
  const [detour] = cluster.detours;
  if (detour !== undefined)
    throw refusal(
      `the ClusterProfile of ${target.name} sets ${detour}, by which another server could pose as ${wanted}`,
      'Latchkey writes no such field. Find out who has changed the ClusterProfile.',
    );
  if (isKnown(cluster.ca ?? '', place.ca)) return;
  throw refusal(
    `the ClusterProfile of ${target.name} names an authority that is not that of ${place.baseURL}, or none`,
    'Give the authority of the gateway with `--certificate-authority`. It must hold every certificate of the ClusterProfile.',
  );
}

/** Whether the client trusts nothing but the certificates of the place. Without any it trusts everything that its system does. */
function isKnown(pem: string, trusted: string | undefined): boolean {
  if (pem.trim() === '') return trusted === undefined;
  const { fingerprints, isWhole } = readCertificates(pem);
  const { fingerprints: known } = readCertificates(trusted ?? '');
  return isWhole && fingerprints.every((each) => known.includes(each));
}

interface Certificates {
  readonly fingerprints: readonly string[];
  /** Whether there is nothing else, which another reader could take for a certificate. */
  readonly isWhole: boolean;
}

function readCertificates(pem: string): Certificates {
  const found = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  const rest = found.reduce((left, each) => left.replace(each, ''), pem);
  const fingerprints = found.flatMap((text) => {
    try {
      return [new X509Certificate(text).fingerprint256];
    } catch {
      return [];
    }
  });
  const isRead = found.length > 0 && fingerprints.length === found.length;
  return { fingerprints, isWhole: isRead && !rest.includes('-----BEGIN') && !binary.test(rest) };
}

/** A certificate without the form of text has bytes that no text has. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to find.
const binary = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\ufffd]/;

const refusal = (problem: string, fix: string): Failure => new Failure('forbidden', problem, fix);
const shown = (server: string): string => printable(server).slice(0, 300);
