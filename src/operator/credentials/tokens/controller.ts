import { defined } from '../../../api/json.ts';
import { reasons } from '../../../api/reasons.ts';
import { credentialHash } from '../../../credentials/keys/credential-hash.ts';
import type { CredentialRecord } from '../../../credentials/record.ts';
import { tokenIDBytes, tokenIDHash } from '../../../credentials/token-id.ts';
import { hasCriticalScopes, signToken, tokenTooLarge } from '../../../credentials/tokens/sign-token.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import type { WorkResult } from '../../../kube/queue/workers.ts';
import type { KeyRing } from '../../signing-keys/key-ring.ts';
import { CredentialReconciler, type Outcome, type ReconcilerServices } from '../credential-reconciler.ts';
import { decisionInput, refuse } from '../decision.ts';
import { confirm } from '../issued/confirm.ts';
import { decideIssued } from '../issued/decide-issued.ts';
import { afterFailedIssue } from '../issued/failed-issue.ts';
import type { IssueCredential, IssuedInput, IssuedLimits } from '../issued/issued-steps.ts';
import { endpointCluster, isForEarlierCluster, type LayoutSources } from '../secret-layout.ts';
import { audiencesOfToken, claimsOf } from './claims.ts';
import { describedClusterProblem } from './described-cluster.ts';

export interface TokenControllerOptions extends ReconcilerServices {
  readonly client: Pick<KubeClient, 'create'>;
  readonly ring: KeyRing;
  /** The base URL. */
  readonly issuer: string;
  /** Whether the API server of this cluster enforces scopes. */
  readonly enforces: (cluster: string) => boolean;
  readonly findCluster: LayoutSources['findCluster'];
  readonly limits: IssuedLimits;
  readonly randomBytes: (count: number) => Uint8Array;
  /** Throws when nothing may be signed now: a signature cannot be taken back. */
  readonly assertMayIssue: () => void;
}

/** Issues, renews and ends tokens as the policy decides. */
export class TokenController {
  readonly #options: TokenControllerOptions;
  /** For which Cluster each of these tokens was issued, by its hash: their statuses did not keep it. */
  readonly #clusterUIDs = new Map<string, string>();
  readonly #reconciler: CredentialReconciler<IssuedInput, IssueCredential>;

  constructor(options: TokenControllerOptions) {
    this.#options = options;
    const { ring, limits, issuer } = options;
    this.#reconciler = new CredentialReconciler({
      ...options,
      kind: 'DirectClusterEndpointToken',
      inputOf: (record): IssuedInput => ({
        ...decisionInput(record, options),
        isPublished: (signingKeyID) => signingKeyID !== undefined && !ring.isRevoked(signingKeyID),
        audiences: (ancestors) => audiencesOfToken(record, ancestors, options),
        unenforcedAudiences: (ancestors) => audiencesOfToken(record, ancestors, { issuer, enforces: none }),
        issuer,
        limits,
        ...(this.#isForEarlierCluster(record) && { replaceReason: reasons.targetChanged }),
      }),
      decide: decideIssued,
      issue: (input, step) => this.#issue(input, step),
    });
  }

  reconcile(name: string): Promise<WorkResult | undefined> {
    return this.#reconciler.reconcile(name);
  }

  async #issue(input: IssuedInput, issue: IssueCredential): Promise<Outcome<IssuedInput>> {
    const { record } = input;
    const { client, ring, assertMayIssue, randomBytes, writer, layoutOf, findCluster } = this.#options;
    const cluster = endpointCluster(record);
    const clusterUID = cluster === undefined ? undefined : findCluster(cluster)?.uid;
    const problem = await describedClusterProblem(client, record, issue, layoutOf(record, clusterUID));
    if (problem !== undefined) return { record, commit: afterFailedIssue(input, issue, problem) };
    await writer.assertAdmitted(record);
    assertMayIssue();
    const { signer } = ring;
    // The ring brings every token again when there is a key.
    if (signer === undefined) return undefined;
    const claims = claimsOf(record, issue, this.#options, randomBytes(tokenIDBytes));
    const token = signToken(claims, signer);
    if (tokenTooLarge(token)) return { record, commit: refuse(input, tooLarge) };
    const issued = {
      document: token,
      credentialHash: credentialHash(token),
      signingKeyID: signer.kid,
      extra: {
        tokenIDHash: tokenIDHash(claims.jti),
        ...(hasCriticalScopes(claims) && { criticalScopes: true as const }),
        ...defined({ clusterUID }),
      },
    };
    const outcome = await confirm(this.#options, input, { record, issue, issued });
    const confirmed = outcome !== undefined && 'record' in outcome ? outcome.record : undefined;
    // Otherwise the token before it is still the one of this object.
    if (clusterUID !== undefined && confirmed?.status.credentialHash === issued.credentialHash)
      this.#rememberCluster(confirmed, clusterUID);
    return outcome;
  }

  #isForEarlierCluster(record: CredentialRecord): boolean {
    const remembered = this.#clusterUIDs.get(record.status.credentialHash ?? '');
    return isForEarlierCluster(record, this.#options.findCluster, remembered);
  }

  /**
   * A definition that is older than this operator drops the field: without this, the token for a Cluster that was made again would be
   * issued again for ever. As it is, it is issued again once after each start of the operator.
   */
  #rememberCluster({ status: { credentialHash: hash, clusterUID } }: CredentialRecord, uid: string): void {
    if (hash === undefined || clusterUID === uid) return;
    const [oldest] = this.#clusterUIDs.keys();
    if (this.#clusterUIDs.size >= maxRemembered && oldest !== undefined) this.#clusterUIDs.delete(oldest);
    this.#clusterUIDs.set(hash, uid);
  }
}

/** A token that is forgotten is issued again, once. */
const maxRemembered = 10_000;

const none = () => false;

const tooLarge = {
  reason: reasons.tokenTooLarge,
  message:
    'The token would be larger than 6 KiB: shorten spec.scope, spec.rules, or the scopes of the access keys above.',
  final: true,
};
