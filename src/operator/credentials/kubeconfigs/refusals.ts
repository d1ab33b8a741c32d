import { isReady } from '../../../api/conditions.ts';
import { reasons } from '../../../api/reasons.ts';
import type { CredentialRecord } from '../../../credentials/record.ts';
import type { VirtualClusterInstanceRecord } from '../../../platform/targets/target-record.ts';
import { isScoped } from '../../../scope/effective-scope.ts';
import { creatorOf, isUnderCreator, required } from '../creator.ts';
import type { CredentialRefusal } from '../desired-status.ts';
import type { IssueCredential } from '../issued/issued-steps.ts';
import { directServer, gatewayDestination, type KubeConfigInput, projectOf } from './destination.ts';

/** Why a kubeconfig that was issued may not go on. Undefined: nothing stands against it, or it was never issued. */
export function goneProblem({ record, instance }: KubeConfigInput): CredentialRefusal | undefined {
  const pinned = record.status.instanceUID;
  if (pinned === undefined) return undefined;
  const present = instance !== undefined && instance.uid === pinned && instance.deleted === undefined;
  return present ? undefined : problems.gone;
}

/** Why nothing may be issued. */
export function issueProblem(input: KubeConfigInput, issue: IssueCredential): CredentialRefusal | undefined {
  const { record, instance } = input;
  const gone = goneProblem(input);
  if (gone !== undefined) return gone;
  if (instance === undefined) return missing(record);
  if (instance.deleted !== undefined) return problems.deleting;
  const form =
    record.kubeConfig?.clientCert === true ? certificateProblem(input, issue, instance) : tokenProblem(input);
  if (form !== undefined) return form;
  return record.status.credentialHash === undefined && !isReady(instance) ? problems.notReady : undefined;
}

function tokenProblem({ record, gateway }: KubeConfigInput): CredentialRefusal | undefined {
  if (projectOf(record, gateway) === undefined) return problems.noProject;
  return gatewayDestination(record, gateway) === undefined ? problems.badServer : undefined;
}

function certificateProblem(
  input: KubeConfigInput,
  issue: IssueCredential,
  instance: VirtualClusterInstanceRecord,
): CredentialRefusal | undefined {
  if (issue.ancestors.some(isScoped)) return problems.scopedKey;
  const creator = certificateCreatorProblem(input);
  if (creator !== undefined) return creator;
  return directServer(input.record, instance) === undefined ? problems.noEndpoint : undefined;
}

/**
 * A narrow credential must not make one that knows no scope. The creator of the object is looked up at its first issue.
 * Afterwards its own life goes on without that credential, which may have been a short login.
 */
function certificateCreatorProblem(input: KubeConfigInput): CredentialRefusal | undefined {
  const creator = creatorOf(input);
  switch (creator.kind) {
    case 'none':
      return undefined;
    case 'gone':
      return input.record.status.fingerprint === undefined ? problems.unknownCreator : undefined;
    case 'broken':
      return problems.unknownCreator;
    case 'known':
      if (creator.scoped) return problems.scopedCreator;
      return isUnderCreator(creator, input.record) ? undefined : required;
  }
}

const final = (reason: CredentialRefusal['reason'], message: string): CredentialRefusal => ({
  reason,
  message,
  final: true,
});
const passing = (reason: CredentialRefusal['reason'], message: string): CredentialRefusal => ({
  reason,
  message,
  final: false,
});

/** Often the name is mistyped, or was left to that of the object. */
function missing({ kubeConfig, name, namespace = '' }: CredentialRecord): CredentialRefusal {
  const instance = kubeConfig?.instance ?? name;
  const field =
    instance === name ? 'name, or with spec.virtualClusterInstance' : 'spec.virtualClusterInstance';
  return passing(
    reasons.instanceNotFound,
    `There is no VirtualClusterInstance ${instance} in the namespace ${namespace}: create it, or create this object with another ${field}.`,
  );
}

const problems = {
  gone: final(
    reasons.instanceGone,
    'The VirtualClusterInstance that this kubeconfig was issued for is gone or going: delete this object, and create another for the new instance.',
  ),
  deleting: passing(
    reasons.instanceNotFound,
    'The VirtualClusterInstance of that name is being deleted: create it again when it is gone.',
  ),
  notReady: passing(
    reasons.instanceNotReady,
    'The VirtualClusterInstance is not Ready: its conditions say why. Nothing is issued before it is.',
  ),
  noProject: final(
    reasons.noProject,
    'A kubeconfig with a token needs the namespace of a project, whose name begins with LATCHKEY_PROJECT_NAMESPACE_PREFIX (p- by default): create it in such a namespace, or with spec.clientCert.',
  ),
  badServer: final(
    reasons.noIngressEndpoint,
    'spec.server is not an https URL without user info, query and fragment: correct it, or leave it out.',
  ),
  noEndpoint: final(
    reasons.noIngressEndpoint,
    'A kubeconfig with a client certificate leads to the virtual cluster itself, which has no known address: set spec.server here, or spec.accessPoint.ingress of the instance.',
  ),
  scopedKey: final(
    reasons.clientCertNotAllowed,
    'A client certificate knows no scope, and an access key above this kubeconfig has one: create this object without spec.clientCert, or under a key without a scope.',
  ),
  scopedCreator: final(
    reasons.clientCertNotAllowed,
    'A client certificate knows no scope, and the credential that created this object has one: create this object without spec.clientCert, or with another credential.',
  ),
  unknownCreator: final(
    reasons.clientCertNotAllowed,
    'The credential that created this object is gone or not valid, so its scope is not known: create this object again.',
  ),
} as const;
