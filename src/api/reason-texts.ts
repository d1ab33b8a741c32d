import { type Reason, reasons } from './reasons.ts';

export type EventAction =
  | 'Connect'
  | 'Confirm'
  | 'Delete'
  | 'Enable'
  | 'Expire'
  | 'Finalize'
  | 'Issue'
  | 'Keep'
  | 'Lock'
  | 'Match'
  | 'Move'
  | 'Refuse'
  | 'Resume'
  | 'Revoke'
  | 'Rotate'
  | 'Wait';

export interface ReasonText {
  /** The conditions that have the reason, as Markdown; absent where only events and messages have it. */
  readonly condition?: string;
  readonly event?: { readonly type: 'Normal' | 'Warning'; readonly actions: readonly EventAction[] };
  readonly meaning: string;
  /** The way out for a reader; absent where there is nothing to do. */
  readonly fix?: string;
}

type Words = readonly [meaning: string, fix?: string];

const toText = ([meaning, fix]: Words) => (fix === undefined ? { meaning } : { meaning, fix });

const refused = (condition: string, words: Words): ReasonText => ({
  condition: `\`Ready\` False${condition}`,
  event: { type: 'Warning', actions: ['Refuse'] },
  ...toText(words),
});
const failing = (...words: Words): ReasonText => refused('', words);
const waiting = (...words: Words): ReasonText => refused(', `Reconciling`', words);
const stalled = (...words: Words): ReasonText => refused(', `Stalled`', words);

const normal = (actions: readonly EventAction[], ...words: Words): ReasonText => ({
  event: { type: 'Normal', actions },
  ...toText(words),
});
const warning = (action: EventAction, ...words: Words): ReasonText => ({
  event: { type: 'Warning', actions: [action] },
  ...toText(words),
});
/** A condition of its own beside Ready. */
const own = (type: string, action: EventAction, ...words: Words): ReasonText => ({
  ...warning(action, ...words),
  condition: `\`${type}\``,
});

/** Where each reason stands, what it means and what a reader does. `npm run generate` writes docs/reference/reasons.md from it. */
export const reasonTexts: Readonly<Record<Reason, ReasonText>> = {
  [reasons.pending]: {
    condition: '`Ready` Unknown',
    meaning: 'The operator has not seen the object yet.',
    fix: 'Wait. If it lasts, look at the operator.',
  },
  [reasons.issued]: {
    ...normal(['Issue'], 'The credential is confirmed and works. As event: a credential was issued.'),
    condition: '`Ready` True',
  },
  [reasons.confirmed]: normal(
    ['Issue', 'Confirm'],
    'A changed spec was confirmed. With `Issue` there is a new credential for it.',
  ),
  [reasons.renewed]: normal(
    ['Issue'],
    'The planned successor was issued. The predecessor is valid for the overlap.',
  ),
  [reasons.rotated]: normal(
    ['Issue'],
    'A successor was issued because the annotation `rotate` asked for it. The predecessor is dead.',
  ),
  [reasons.disabled]: stalled('`spec.disabled` is true.', 'Set it to false.'),
  [reasons.enabled]: normal(['Enable'], 'The credential works again, and is the same as before.'),
  [reasons.expired]: stalled(
    'The life is over.',
    'Raise `spec.ttl`, or make another. Tokens and kubeconfigs without `spec.accessKey` never live longer: make another.',
  ),
  [reasons.locked]: failing(
    'A CredentialLock stops the credential or a key above it; the message names it. The credential works again when the lock is gone.',
    'Ask an administrator of the platform.',
  ),
  [reasons.inForce]: {
    ...normal(['Lock'], 'The CredentialLock is in force.'),
    condition: '`Ready` True',
  },
  [reasons.expiringSoon]: own(
    'ExpiringSoon',
    'Expire',
    'The end is near; the message has the time.',
    'Raise `spec.ttl`, or prepare a successor.',
  ),
  [reasons.deleting]: waiting(
    'The object is being deleted, and the finalizer of another controller keeps it. In messages: an access key above is being deleted.',
    'Look at `metadata.finalizers` and at the controller that they name.',
  ),
  [reasons.deleted]: normal(
    ['Delete'],
    'The object was deleted. The note says where its credential has ended for certain. About a Secret: it was deleted with its credential.',
    'Look for an event `FinalizerReleased` as well: with it something is left.',
  ),
  [reasons.unconfirmed]: waiting(
    'An access key above is not confirmed yet.',
    'Wait. If it lasts, look at the keys above: one of them may be refused.',
  ),
  [reasons.duplicateKey]: stalled(
    'Another credential of any kind had the same key first.',
    'Set another `spec.key`. Deleting the other object does not help, on purpose.',
  ),
  [reasons.restoredCredential]: stalled(
    'The object was made with the annotation `management.platform.sh/origin`, so it is a copy or comes from a backup. Its key may have been deleted or have ended since.',
    'Set another `spec.key`, or leave it out to have one made. Or remove the annotation, and the old key works again.',
  ),
  [reasons.malformedKey]: stalled(
    '`spec.key` is too short or long, has other characters, is `sha256:` without 64 lower-case hex digits, or is a cut `lk_` key.',
    'Copy the whole key again, or leave the field out.',
  ),
  [reasons.identityInvalid]: stalled(
    'There is no identity, or a name that is not allowed. The message names the field.',
    'Correct `spec.groups` in place. For any other field delete the object and create it again, because an identity never changes.',
  ),
  [reasons.requesterNotAllowed]: stalled(
    'The requester cannot have a credential of its own: it is a service account, or has a reserved name.',
    'Delete the object. Create it with `spec.accessKey`, or let a person create it.',
  ),
  [reasons.requesterUnknown]: stalled(
    'The requester record is missing or unreadable, or dates from a time without policies. Or the credential that made the object is gone.',
    'If it was confirmed before, change it once more as its owner. Otherwise create it again.',
  ),
  [reasons.requesterNotPermitted]: waiting(
    'The user who asked for this spec lacks a right. The message names user, verb and object.',
    'Grant the verb, or let someone who has it create the object. The operator asks again within a minute.',
  ),
  [reasons.changedBeyondLimits]: stalled(
    'A limited credential changed the object beyond its limits while a policy was missing. The annotation `changed-beyond-limits` names it.',
    'Look at the whole of `spec`. Then change it with a credential without a scope; disabling and enabling counts.',
  ),
  [reasons.changeNotAllowed]: stalled(
    'Someone who is neither creator nor user changed `spec` or rotated while a policy was missing. The message names them.',
    'Look at `spec` and at the annotation `rotate`. Then change `spec` as its creator or its user; enabling counts.',
  ),
  [reasons.sitePolicy]: stalled(
    'The site policy refuses this spec. With `Ready` True it refused a longer life, and the former one stays in force.',
    'Correct the field that the message names, or have the entry of the ConfigMap changed.',
  ),
  [reasons.accessKeyNotFound]: waiting(
    '`spec.accessKey` names a key that does not exist.',
    'Create that key. Or delete this object and create it under a live key of your own.',
  ),
  [reasons.accessKeyNotAllowed]: stalled(
    'The requester may not use that access key.',
    'Create it under a key of your own. For a kubeconfig, have its namespace listed in `spec.allowedNamespaces` of that key.',
  ),
  [reasons.accessKeyRequired]: stalled(
    'A credential with an end, a scope or a parent made it, and `spec.accessKey` does not name that key.',
    'Delete this object and create it with `spec.accessKey` naming that key, or with another credential.',
  ),
  [reasons.accessKeyNotLive]: failing(
    'A key above does not work now; the message has its reason. This credential works again when that key does.',
    'Look at the keys above. With `Reconciling` another credential is issued then.',
  ),
  [reasons.accessKeyGone]: stalled(
    'The access key was deleted. A new one of the same name has another UID and does not inherit.',
    'Delete this object and create it under a live key of your own.',
  ),
  [reasons.accessKeyChainInvalid]: stalled(
    'The keys above form a loop, or are more than eight.',
    'Delete this object and create it under a live key of your own.',
  ),
  [reasons.chainChanged]: normal(
    ['Issue'],
    'A successor was issued because a key above changed. In answers of verifiers: the token carries older scopes.',
  ),
  [reasons.groupsAdded]: normal(
    ['Issue'],
    'A successor was issued because it may have groups that the one before had not.',
  ),
  [reasons.rotationNotPossible]: own(
    'RotationNotPossible',
    'Rotate',
    'You supplied the key, so Latchkey cannot replace it.',
    'Set another `spec.key`.',
  ),
  [reasons.scopeMatchesNothing]: own(
    'ScopeMatchesNothing',
    'Match',
    'Nothing exists that `spec.scope` names: a name is mistyped, or not created yet. The message has the first names.',
    'Correct the name, or create the object. The condition goes by itself then.',
  ),
  [reasons.secretConflict]: stalled(
    'The Secret in `spec.secretRef`, or `latchkey-target-…` of a target, was not made for this object. It was not touched.',
    'Name another, or delete that one if no one needs it. The operator checks again within 10 seconds.',
  ),
  [reasons.secretFailed]: waiting(
    'The Secret could not be written; the message says why.',
    'Create the namespace, or name another. The operator checks again within 10 seconds.',
  ),
  [reasons.secretReplaced]: normal(
    ['Issue'],
    'The Secret of the credential was deleted or changed, so a new credential was issued into it.',
    'Leave it. To rotate on purpose, set the annotation `management.platform.sh/rotate`.',
  ),
  [reasons.quotaExceeded]: waiting(
    'The requester has as many live objects of this kind as `LATCHKEY_MAX_OBJECTS_PER_OWNER` allows, and this is one of the newest.',
    'Delete one that you do not need, or have the setting raised. The oldest goes on first.',
  ),
  [reasons.tokenTooLarge]: stalled(
    'The token would be larger than 6 KiB.',
    'Shorten its scope, or those of the keys above.',
  ),
  [reasons.objectTooLarge]: stalled(
    'The object is larger than 1 MB: at the limit of etcd it could be neither disabled nor deleted, so its credential ends before. Or its scope, rules, exchange and secretRef, which are kept in memory, are larger than 32768 bytes together.',
    'Shorten spec, labels and annotations. Make several credentials of a long scope.',
  ),
  [reasons.signingKeyRevoked]: normal(
    ['Issue'],
    'A successor was issued because the key that signed the token is not published any more.',
  ),
  [reasons.signingKeyUnreadable]: warning(
    'Keep',
    'An entry `<kid>.pem` of the Secret `latchkey-signing-keys` holds no signing key of that name. It is kept as `<kid>.pem.unreadable`.',
    'Find out who wrote the Secret. Tokens of that key are issued again.',
  ),
  [reasons.finalizerReleased]: warning(
    'Finalize',
    'The finalizer was given up at its time limit; something may be left.',
    "Look for Secrets with the object's UID in a label.",
  ),
  [reasons.secretsMoved]: normal(
    ['Move'],
    'Login data of a key was moved out of its spec into a Secret in `latchkey-system`.',
  ),
  [reasons.storm]: {
    meaning:
      'Too many events of one reason came at once; the rest was only counted. Type and action are those of the events.',
  },
  [reasons.connected]: {
    ...normal(['Connect'], 'The target can be used, and Latchkey has its account there.'),
    condition: '`Ready` True',
  },
  [reasons.kubeConfigNotFound]: failing(
    'There is no administrator kubeconfig at the place that `spec.kubeConfigSecretRef` names, or no place is named.',
    'Create the Secret. The reference cannot change: for another Secret, delete this object and create it again.',
  ),
  [reasons.kubeConfigRefused]: stalled(
    'The administrator kubeconfig holds a field that Latchkey does not accept; the message names it.',
    'Write an https server, its certificate authority, and a token or a client certificate, all inline.',
  ),
  [reasons.addressRefused]: failing(
    'The server of the target has an address that the operator may not dial.',
    'Give it another address, or allow this one in `LATCHKEY_TARGET_ADDRESSES`.',
  ),
  [reasons.targetUnreachable]: waiting(
    'The target does not answer in time.',
    'Look at the target and the network between.',
  ),
  [reasons.targetNotTrusted]: waiting(
    'The server certificate of the target does not fit the authority or the name in the administrator kubeconfig.',
    'Renew the administrator kubeconfig.',
  ),
  [reasons.targetUnauthorized]: waiting(
    'The target does not know the user of the administrator kubeconfig.',
    'Renew the administrator kubeconfig.',
  ),
  [reasons.targetForbidden]: waiting(
    'The user of the administrator kubeconfig lacks a right in the target.',
    'Use the kubeconfig of a cluster administrator.',
  ),
  [reasons.targetAnswer]: waiting(
    'The target answers with an error, or as no API server does.',
    'Check the target, and any proxy in front of it.',
  ),
  [reasons.targetInUse]: stalled(
    'Another instance points at the same virtual cluster and gives its users another role.',
    'Set the same `spec.access.clusterRole`, or keep one of them.',
  ),
  [reasons.clusterNotFound]: failing(
    'A space without `spec.clusterRef`, or with one that names no Cluster.',
    'Create the Cluster, or create the space with the right reference.',
  ),
  [reasons.clusterNotReady]: waiting('The Cluster of a space is not ready.', 'Look at the Cluster.'),
  [reasons.namespaceNotFound]: waiting(
    'The namespace of a space is missing in its cluster, or is being deleted there.',
    'Create it in the cluster. Latchkey makes none.',
  ),
  [reasons.instanceNotFound]: waiting(
    'The virtual cluster instance of a kubeconfig does not exist in this namespace.',
    'Create it. Or delete this object and create it with the right name.',
  ),
  [reasons.instanceGone]: stalled(
    'The instance of a kubeconfig was deleted. A new one of the same name has another UID and does not inherit.',
    'Delete this object and create it for the other instance.',
  ),
  [reasons.instanceNotReady]: waiting(
    'The instance of a kubeconfig is not ready. Nothing is issued for the first time, and no certificate at all.',
    'Look at the instance. The kubeconfig follows by itself.',
  ),
  [reasons.noIngressEndpoint]: stalled(
    'A kubeconfig with `clientCert` needs an address, and neither `spec.server` nor an ingress of the instance gives one.',
    'Set `spec.accessPoint.ingress` of the instance, or `spec.server`.',
  ),
  [reasons.noProject]: failing(
    'A kubeconfig with a token needs a project: a namespace with the prefix of projects and the label `management.platform.sh/project`.',
    'Label the namespace. If its name does not fit, create the object in another one.',
  ),
  [reasons.useNotAllowed]: waiting(
    'The user of the kubeconfig lacks `use` (with `clientCert`, `use-as-admin`) on the instance, or that of a token with `secretRef.format` on the Cluster. Reserved groups such as `system:masters` never count.',
    'Have the verb granted to the user by name. The operator checks again within a minute.',
  ),
  [reasons.clientCertNotAllowed]: stalled(
    'A certificate cannot carry a scope, so a scoped credential gets none.',
    'Leave out `clientCert`, or use a key without a scope.',
  ),
  [reasons.certificateDenied]: waiting(
    'The virtual cluster denied the signing request.',
    'Look for a policy or controller inside that denies requests of Latchkey.',
  ),
  [reasons.certificateFailed]: waiting(
    'The virtual cluster failed to sign, or signed something else than was requested.',
    'Look at the signer of the virtual cluster.',
  ),
  [reasons.certificateTimeout]: waiting(
    'The virtual cluster did not sign in time.',
    'Check that its controller manager signs requests.',
  ),
  [reasons.certificateNotRevoked]: warning(
    'Revoke',
    'A kubeconfig was deleted, and its client certificate works until the time in the message. The operator tries again until then.',
    'Bring the virtual cluster back. Look there for policies and webhooks that keep bindings.',
  ),
  [reasons.revocationUnreadable]: warning(
    'Revoke',
    'A record `latchkey-revocation-…` in `latchkey-system` cannot be read, so nothing is revoked on its word.',
    'Remove the bindings by hand, and delete it. Records are signed, so do not edit it.',
  ),
  [reasons.targetChanged]: normal(
    ['Issue'],
    'A kubeconfig was issued again because address, certificate authority or role of its target changed.',
  ),
  [reasons.recordNotSigned]: warning(
    'Revoke',
    'A ConfigMap in `latchkey-system` passes for a record of certificates to revoke, and the operator did not sign it. It has no effect.',
    'Find out who wrote it, and delete it. Old records appear too if the Secret `latchkey-revocation-key` was lost.',
  ),
  [reasons.admissionMissing]: {
    condition: '`Ready` False, `Reconciling`',
    event: { type: 'Warning', actions: ['Wait'] },
    meaning:
      'A policy or binding that protects security is missing, older or edited. Nothing new is confirmed; confirmed objects go on working.',
    fix: 'Apply `config/admission` of the same release. The event, the log and `/readyz/admission` name the policy.',
  },
  [reasons.admissionComplete]: normal(['Resume'], 'All admission policies are there again.'),
};
