import { defined } from '../../../api/json.ts';
import { reasons } from '../../../api/reasons.ts';
import { credentialHash } from '../../../credentials/keys/credential-hash.ts';
import { kubeConfigDocument } from '../../../credentials/kubeconfig-document.ts';
import type { CredentialRecord } from '../../../credentials/record.ts';
import { type TokenClaims, tokenClaims } from '../../../credentials/tokens/claims.ts';
import { signToken, type TokenSigner, tokenTooLarge } from '../../../credentials/tokens/sign-token.ts';
import type { VirtualClusterInstanceRecord } from '../../../platform/targets/target-record.ts';
import { effectiveScope } from '../../../scope/effective-scope.ts';
import type { CredentialRefusal } from '../desired-status.ts';
import type { GatewayAddress } from '../gateway-address.ts';
import type { IssueCredential, MadeCredential } from '../issued/issued-steps.ts';
import { gatewayDestination, namesOf, projectOf, targetHashOf } from './destination.ts';

export interface TokenKubeConfigRequest {
  readonly record: CredentialRecord;
  readonly issue: IssueCredential;
  readonly instance: VirtualClusterInstanceRecord;
  readonly gateway: GatewayAddress;
  readonly signer: TokenSigner;
}

/** Makes a kubeconfig that leads to the gateway with a token for one instance, by name and UID, or says why not. */
export function makeWithToken(
  request: TokenKubeConfigRequest,
): MadeCredential | { readonly problem: CredentialRefusal } {
  const { record, issue, instance, gateway, signer } = request;
  const destination = gatewayDestination(record, gateway);
  // The policy has refused what has none; this is for the compiler.
  if (destination === undefined) throw new RangeError('a kubeconfig without a destination');
  const token = signToken(claimsOf(request), signer);
  if (tokenTooLarge(token)) return { problem: tooLarge };
  const document = kubeConfigDocument({
    server: destination.server,
    ...defined({ ca: destination.ca }),
    name: namesOf(record),
    user: { token },
  });
  const issued = {
    document,
    credentialHash: credentialHash(token),
    signingKeyID: signer.kid,
    extra: {
      auth: 'Token',
      documentHash: credentialHash(document),
      targetHash: targetHashOf(destination),
      instanceUID: instance.uid,
      criticalScopes: true,
    },
  } as const;
  return { record, issue, issued };
}

/** Its own scope is the instance; those of all keys above apply besides. */
function claimsOf({ record, issue, instance, gateway }: TokenKubeConfigRequest): TokenClaims {
  const [parent] = issue.ancestors;
  const { namespace = '', name, uid, kind } = record;
  const own = { virtualClusters: [{ project: projectOf(record, gateway), virtualCluster: instance.name }] };
  return tokenClaims({
    issuer: gateway.issuer,
    audience: [gateway.issuer],
    identity: issue.identity,
    object: { kind, namespace, name, uid },
    instance: { namespace: instance.namespace, name: instance.name, uid: instance.uid },
    ...defined({ parent: parent && { name: parent.name, uid: parent.uid } }),
    serial: issue.serial,
    scopes: [own, ...issue.ancestors.map(effectiveScope)],
    issuedAt: issue.issuedAt,
    notAfter: issue.end,
  });
}

const tooLarge: CredentialRefusal = {
  reason: reasons.tokenTooLarge,
  message: 'The token would be larger than 6 KiB: shorten the scopes of the access keys above.',
  final: true,
};
