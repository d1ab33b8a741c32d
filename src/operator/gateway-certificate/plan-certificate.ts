import type { X509Certificate } from 'node:crypto';
import { defined } from '../../api/json.ts';
import { group, systemNamespace, systemObjects } from '../../api/names.ts';
import type { CertificatePair } from '../../credentials/certificates/serving-certificate.ts';
import {
  isFor,
  isOfSite,
  readAuthority,
  readCertificate,
  readPair,
  type StoredAuthority,
  type StoredServing,
} from './stored-certificate.ts';

export interface CertificateInput {
  /** Undefined: there is no such Secret. */
  readonly authority: StoredAuthority | undefined;
  /** Undefined: there is no such Secret. */
  readonly serving: StoredServing | undefined;
  /** Under which clients reach the gateway. */
  readonly hosts: readonly string[];
  readonly now: number;
}

/** The text of kubeconfigs about the authority of the gateway. Each text is PEM, of one authority or of two. */
export interface GatewayTrust {
  /** Absent: clients trust what the site has given. */
  readonly ca?: string;
  /** Texts of kubeconfigs that were issued before, and that are good still. */
  readonly earlierCAs: readonly string[];
}

/** The wanted content of the Secret of the authority; `new`: a pair that is to be made. */
export interface AuthorityWrite {
  readonly current: CertificatePair | 'new';
  readonly next?: 'new';
  readonly former: string;
}

/** The next step, and its reason. */
export type CertificateStep =
  /** The site has given the certificate; `end` where it can be read. */
  | { readonly step: 'leave'; readonly end?: number }
  /** The Secret of the authority belongs to someone else. */
  | { readonly step: 'refuse' }
  | { readonly step: 'writeAuthority'; readonly reason: string; readonly write: AuthorityWrite }
  | {
      readonly step: 'issue';
      readonly reason: string;
      readonly signer: CertificatePair;
      readonly ca: string;
    }
  | {
      readonly step: 'keep';
      readonly trust: GatewayTrust;
      readonly end: number;
      readonly recheckAt: number;
    };

const dayMs = 86_400_000;

/** Milliseconds. */
export const lives = {
  authority: 3_650 * dayMs,
  /** How long the next authority stands in kubeconfigs before it signs. Few kubeconfigs live longer, and those are issued again. */
  announcement: 730 * dayMs,
  serving: 90 * dayMs,
  /** How long before its end a certificate is renewed. */
  renewBefore: 30 * dayMs,
  /** Lives begin in the past, for clients whose clocks are behind. */
  backdate: 300_000,
} as const;

export const servingName = { organization: group, commonName: systemObjects.gatewayService };

/** The host of the base URL, and the names of the Service. */
export function servedHosts(baseURL: string): readonly string[] {
  const host = new URL(baseURL).hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  const service = systemObjects.gatewayService;
  const inNamespace = `${service}.${systemNamespace}`;
  const names = [host, service, inNamespace, `${inNamespace}.svc`, `${inNamespace}.svc.cluster.local`];
  return [...new Set(names)];
}

/**
 * Plans the next step for the certificate of the gateway. One that the site has given is never touched, nor is a
 * Secret of the authority that is not ours. Pure: the same Secrets and time give the same step on every replica.
 */
export function planCertificate(input: CertificateInput): CertificateStep {
  const { authority, serving, now } = input;
  if (serving !== undefined && isOfSite(serving)) return leave(serving);
  if (authority === undefined) return createAuthority('missing', '');
  const signer = readAuthority(authority);
  if (signer === undefined) return authority.isOurs ? createAuthority('unusable', '') : { step: 'refuse' };
  const planned = planAuthority(authority, signer, now);
  return 'step' in planned ? planned : planServing(input, { ...planned, authority, signer });
}

function leave({ certificate }: StoredServing): CertificateStep {
  const end = readCertificate(certificate)?.validToDate.getTime();
  return { step: 'leave', ...defined({ end }) };
}

/** Whether another authority is due, or when. One that signs less than a certificate lives would end before it. */
function planAuthority(
  authority: StoredAuthority,
  signer: X509Certificate,
  now: number,
): CertificateStep | { readonly changeAt: number } {
  const changeAt = lastIssueOf(signer);
  const next = readAuthority(authority.next);
  if (now < changeAt - lives.announcement) return { changeAt: changeAt - lives.announcement };
  const former = signer.toString();
  if (now >= changeAt)
    return next !== undefined && now < lastIssueOf(next)
      ? writeAuthority('its time has come', { current: authority.next, former })
      : createAuthority('ends soon', former);
  return next === undefined
    ? writeAuthority('announced', { current: authority, next: 'new', former: authority.former })
    : { changeAt };
}

const lastIssueOf = ({ validToDate }: X509Certificate): number => validToDate.getTime() - lives.serving;

const writeAuthority = (reason: string, write: AuthorityWrite): CertificateStep => ({
  step: 'writeAuthority',
  reason,
  write,
});

const createAuthority = (reason: string, former: string): CertificateStep =>
  writeAuthority(reason, { current: 'new', former });

/**
 * Kubeconfigs name every authority that may vouch for the gateway while they live: also the next one, and the former one
 * for as long as a replica may still serve with what it signed.
 */
function trustOf(
  { next, former }: StoredAuthority,
  signer: X509Certificate,
  now: number,
): GatewayTrust & { readonly ca: string } {
  const current = signer.toString();
  const before = readCertificate(former);
  const withFormer = `${before ?? ''}${current}`;
  const isFormerValid = before !== undefined && now < before.validToDate.getTime();
  const ca = `${isFormerValid ? withFormer : current}${readAuthority(next) ?? ''}`;
  return { ca, earlierCAs: [...new Set([current, withFormer])].filter((earlier) => earlier !== ca) };
}

interface PresentAuthority {
  readonly authority: StoredAuthority;
  readonly signer: X509Certificate;
  /** When something changes about the authority. */
  readonly changeAt: number;
}

function planServing(
  input: CertificateInput,
  { authority, signer, changeAt }: PresentAuthority,
): CertificateStep {
  const { serving, now } = input;
  const trust = trustOf(authority, signer, now);
  const { ca } = trust;
  if (serving === undefined) return { step: 'issue', reason: 'missing', signer: authority, ca };
  const problem = servingProblem(serving, input, { signer, ca });
  if (problem !== undefined) return { step: 'issue', reason: problem, signer: authority, ca };
  const end = endOf(serving.certificate);
  const instants = [end - lives.renewBefore, changeAt, endOf(authority.former)];
  return { step: 'keep', trust, end, recheckAt: Math.min(...instants.filter((at) => at > now)) };
}

/** Why another certificate is due. */
function servingProblem(
  serving: StoredServing,
  { hosts, now }: Pick<CertificateInput, 'hosts' | 'now'>,
  { signer, ca }: { readonly signer: X509Certificate; readonly ca: string },
): string | undefined {
  const present = readPair(serving);
  if (present === undefined) return 'unusable';
  if (!present.verify(signer.publicKey)) return 'of another authority';
  if (serving.ca !== ca) return 'without its authorities';
  if (!hosts.every((host) => isFor(present, host))) return 'for other hosts';
  if (now < present.validFromDate.getTime()) return 'not valid yet';
  return now < present.validToDate.getTime() - lives.renewBefore ? undefined : 'ends soon';
}

/** Before all time when it cannot be read. */
const endOf = (certificate: string): number => readCertificate(certificate)?.validToDate.getTime() ?? 0;
