import { asObject, defined, type JsonObject } from '../../api/json.ts';
import { fieldManager, ownNamespaces } from '../../api/names.ts';
import { type Reason, reasons } from '../../api/reasons.ts';
import { secrets } from '../../api/resources.ts';
import {
  decodeEntry,
  followsLayout,
  recogniseCredentialSecret,
  renderCredentialSecret,
  type SecretContent,
  type SecretLocation,
  secretLocation,
  withState,
} from '../../credentials/credential-secret.ts';
import { credentialHash } from '../../credentials/keys/credential-hash.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import { maxSecretBytes, renderedBytes, type SecretLayout } from '../../credentials/secret-template.ts';
import type { MutationCache } from '../../kube/cache/mutation-cache.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import {
  ignoreNotFound,
  isAlreadyExists,
  isConflict,
  isForbidden,
  isInvalid,
  isNotFound,
} from '../../kube/kube-error.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { DesiredCondition } from '../shared/conditions.ts';
import { type FindLayout, isKnownLayout, type LayoutProblem } from './secret-layout.ts';
import { inPlaceOf } from './secret-of-others.ts';
import { type SecretRecord, toSecretMetadata, toSecretRecord } from './secret-record.ts';
import type { SecretUpdate } from './secret-state.ts';

/** Deletes in one reconcile of a credential. */
const maxDeletes = 20;

/** Writes the Secrets that `spec.secretRef` asks for, and never one that was not made for the very object. */
export class SecretWriter {
  readonly #client: KubeClient;
  readonly #records: MutationCache<SecretRecord>;
  readonly #layoutOf: FindLayout;

  constructor(client: KubeClient, records: MutationCache<SecretRecord>, layoutOf: FindLayout) {
    this.#client = client;
    this.#records = records;
    this.#layoutOf = layoutOf;
  }

  /**
   * Creates or overwrites the Secret of `record`. Resolves with why that is not possible, or with nothing. `clusterUID`: of the Cluster
   * that a token was judged for.
   */
  async write(
    record: CredentialRecord,
    content: Omit<SecretContent, 'layout'>,
    clusterUID?: string,
  ): Promise<DesiredCondition | undefined> {
    const location = secretLocation(record);
    if (location === undefined)
      return problem(reasons.secretFailed, 'spec.secretRef needs a namespace and a name.');
    if (ownNamespaces.includes(location.namespace)) return problem(reasons.secretFailed, inOwnNamespace);
    const layout = this.#layoutOf(record, clusterUID);
    if (!isKnownLayout(layout)) return problem(reasons.secretFailed, whyUnknown(layout));
    if (isTooLarge(layout, content.credential)) return problem(reasons.secretFailed, tooLarge);
    const secret = renderCredentialSecret(record, location, { ...content, ...defined({ layout }) });
    const { namespace, name } = location;
    try {
      const created = await this.#client.create(secrets, secret, { namespace, fieldManager });
      this.#put(created);
      return undefined;
    } catch (error) {
      if (isAlreadyExists(error)) return this.#overwrite(record, { namespace, name }, secret);
      return writeProblem(error);
    }
  }

  /** Reads a Secret of which only the metadata is known. Resolves with nothing when it is gone. */
  async read(secret: SecretRecord, owner: CredentialRecord): Promise<SecretRecord | undefined> {
    const { namespace, name } = secret;
    const present = await this.#client.get<StoredSecret>(secrets, { namespace, name }).catch(ignoreNotFound);
    if (present === undefined) {
      this.#records.putTombstone(secret);
      return undefined;
    }
    const { uid, resourceVersion } = present.metadata;
    // Someone may have made it one that is not ours.
    return (
      toSecretRecord(present, this.#looksAsAsked(present, owner)) ?? {
        ...secret,
        uid,
        resourceVersion,
        hashes: new Map(),
      }
    );
  }

  /**
   * Has the Secret say what has become of its credential, and look as its template says. Nothing depends on it: what others changed,
   * deleted or guard meanwhile stays as it is until the next reconcile.
   */
  async annotate(record: CredentialRecord, update: SecretUpdate): Promise<void> {
    const { namespace, name, uid } = update.secret;
    const location = secretLocation(record);
    const present = await this.#client.get<StoredSecret>(secrets, { namespace, name }).catch(ignoreRefused);
    if (location === undefined || present?.metadata.uid !== uid) return;
    const updated = updatedSecret(record, location, present, { ...update, layout: this.#layoutOf(record) });
    if (updated === undefined) return;
    const replacement = this.#client.replace(secrets, { namespace, name }, updated, { fieldManager });
    const written = await replacement.catch(ignoreRefused);
    if (written !== undefined) this.#put(written);
  }

  /**
   * The next reconcile goes on where this one ends: anyone may make Secrets that look like ours, with finalizers of their own.
   * `onDeleted`: called for each that was still there.
   */
  async deleteAll(
    secrets: readonly SecretRecord[],
    onDeleted: (secret: SecretRecord) => void = () => undefined,
  ): Promise<void> {
    const present = secrets.filter(({ deleting }) => !deleting).slice(0, maxDeletes);
    for (const secret of present) if (await this.#delete(secret)) onDeleted(secret);
  }

  /** Resolves with true when it was still there. */
  async #delete(known: SecretRecord): Promise<boolean> {
    const isGone = await this.#deleteOurs(known);
    // Otherwise it would be deleted again, in vain, until the watch has told.
    if (isGone === false) this.#records.delete(known.key);
    else this.#records.putTombstone(known);
    return isGone !== undefined;
  }

  /**
   * Whether it is gone; undefined where it was not there, or not ours. A label makes it ours, and somebody may have taken that away since
   * the watch brought it: a version that no one has looked at is never deleted.
   */
  async #deleteOurs(known: SecretRecord): Promise<boolean | undefined> {
    try {
      return await this.#deleteVersion(known);
    } catch (error) {
      if (!isConflict(error)) return ignoreNotFound(error);
    }
    const { namespace, name, uid, ownerUID } = known;
    const present = await this.#client.get<KubeObject>(secrets, { namespace, name }).catch(ignoreNotFound);
    const record = present && toSecretMetadata(present);
    if (record?.uid !== uid || record.ownerUID !== ownerUID) return undefined;
    return await this.#deleteVersion(record).catch(ignoreNotFound);
  }

  #deleteVersion({ namespace, name, uid, resourceVersion }: SecretRecord): Promise<boolean> {
    return this.#client.delete(secrets, { namespace, name }, { preconditions: { uid, resourceVersion } });
  }

  /** Nothing is made of a credential that no status confirms. */
  #looksAsAsked(secret: StoredSecret, owner: CredentialRecord): boolean | undefined {
    const [location, layout] = [secretLocation(owner), this.#layoutOf(owner)];
    if (location === undefined || !isKnownLayout(layout)) return undefined;
    const { credentialHash: hash, documentHash = hash } = owner.status;
    const content = decodeEntry(asObject(secret.data), location.entry) ?? '';
    return credentialHash(content) === documentHash && followsLayout(secret, location, layout);
  }

  async #overwrite(
    record: CredentialRecord,
    key: { readonly namespace: string; readonly name: string },
    secret: ReturnType<typeof renderCredentialSecret>,
  ): Promise<DesiredCondition | undefined> {
    const present = await this.#client.get<KubeObject>(secrets, key);
    const location = secretLocation(record);
    if (location === undefined || recogniseCredentialSecret(present, record, location).owner === 'other') {
      return problem(
        reasons.secretConflict,
        'spec.secretRef names a Secret that Latchkey did not make for this object: delete it, or name another.',
      );
    }
    try {
      const replaced = await this.#client.replace(secrets, key, inPlaceOf(present, secret), { fieldManager });
      this.#put(replaced);
      return undefined;
    } catch (error) {
      return writeProblem(error);
    }
  }

  /** As it was written, it looks as asked for; another program in the way may have its reasons. */
  #put(object: KubeObject): void {
    const record = toSecretRecord(object, true);
    if (record !== undefined) this.#records.put(record);
  }
}

interface StoredSecret extends KubeObject {
  readonly data?: JsonObject;
}

/** Undefined for one that is not ours. Where another credential stands than the confirmed one, nothing is made of that. */
function updatedSecret(
  record: CredentialRecord,
  location: SecretLocation,
  present: StoredSecret,
  { state, contentHash, layout }: SecretUpdate & { readonly layout: ReturnType<FindLayout> },
): KubeObject | undefined {
  const recognised = recogniseCredentialSecret(present, record, location);
  if (recognised.owner === 'other') return undefined;
  const credential = decodeEntry(asObject(present.data), location.entry);
  const isConfirmed = credential !== undefined && recognised.credentialHash === contentHash;
  if (isConfirmed && isKnownLayout(layout) && !isTooLarge(layout, credential)) {
    const content = { serial: recognised.serial, credential, state, ...defined({ layout }) };
    return inPlaceOf(present, renderCredentialSecret(record, location, content));
  }
  const annotations = withState(present.metadata.annotations ?? {}, state);
  return { ...present, metadata: { ...present.metadata, annotations } };
}

const isTooLarge = (layout: SecretLayout | undefined, credential: string): boolean =>
  layout !== undefined && renderedBytes(layout, credential) > maxSecretBytes;

const whyUnknown = (layout: LayoutProblem | 'pending'): string =>
  layout === 'pending' ? authorityUnknown : layout.problem;

const authorityUnknown =
  'The authority of the gateway is not known yet, and the Secret needs it: it is written as soon as it is known.';

const tooLarge =
  'spec.secretRef.template.entries would make the Secret larger than 1 MiB: write $(credential) in fewer entries.';

function ignoreRefused(error: unknown): undefined {
  const isRefused = isNotFound(error) || isConflict(error) || isForbidden(error) || isInvalid(error);
  if (!isRefused) throw error;
}

/** A refusal that more tries will not change soon becomes a condition; anything else is tried again. */
function writeProblem(error: unknown): DesiredCondition {
  if (isNotFound(error)) {
    return problem(
      reasons.secretFailed,
      'The namespace in spec.secretRef does not exist: create it, or name another.',
    );
  }
  if (isForbidden(error)) {
    return problem(
      reasons.secretFailed,
      'The API server does not let Latchkey write the Secret of spec.secretRef: the namespace may be going away.',
    );
  }
  if (isInvalid(error))
    return problem(reasons.secretFailed, 'The API server does not accept the Secret: check spec.secretRef.');
  throw error;
}

const problem = (reason: Reason, message: string): DesiredCondition => ({ reason, message });

/** The schema refuses it too; the names there are those of the signing keys and of the login data. */
const inOwnNamespace = `spec.secretRef must not name a Secret in ${ownNamespaces.join(' or ')}: name one in another namespace.`;
