import { asObject, asText } from '../../../api/json.ts';
import {
  apiVersion,
  fieldManager,
  labels,
  loginFields,
  purposes,
  systemNamespace,
} from '../../../api/names.ts';
import { reasons } from '../../../api/reasons.ts';
import { ownedAccessKeys, secrets } from '../../../api/resources.ts';
import { toCredentialRecord } from '../../../credentials/credential-record.ts';
import type { CredentialRecord } from '../../../credentials/record.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import { isAlreadyExists } from '../../../kube/kube-error.ts';
import type { KubeObject } from '../../../kube/object.ts';
import type { ObjectEvents, TransitionEvent } from '../../shared/events.ts';

/**
 * Login data of a key (the data of its connector, the tokens of its OIDC login) never stays where `kubectl get` reads
 * it: it goes into a Secret in the system namespace, named by the UID of the key.
 */
export class LoginSecrets {
  readonly #client: KubeClient;
  readonly #events: ObjectEvents;

  constructor(client: KubeClient, events: ObjectEvents) {
    this.#client = client;
    this.#events = events;
  }

  /** The Secret first: a crash in between leaves the data twice, never nowhere. */
  async move(record: CredentialRecord): Promise<CredentialRecord> {
    const object = await this.#client.get<KubeObject & { spec?: object }>(ownedAccessKeys, {
      name: record.name,
    });
    if (object.metadata.uid !== record.uid) return toCredentialRecord(object, 'OwnedAccessKey');
    const { data, removal } = takeLoginData(object.spec ?? {});
    await this.#keep(record, data);
    const { uid, resourceVersion } = object.metadata;
    const patch = { metadata: { uid, resourceVersion }, spec: removal };
    const stripped = await this.#client.mergePatch<KubeObject>(
      ownedAccessKeys,
      { name: record.name },
      patch,
      { fieldManager },
    );
    this.#events.publish(record, [loginSecretsMoved]);
    return toCredentialRecord(stripped, 'OwnedAccessKey');
  }

  /** Entries of earlier moves stay. The resourceVersion keeps a writer that is late from putting older data back. */
  async #keep(record: CredentialRecord, data: LoginData): Promise<void> {
    const secret = renderLoginSecret(record, data);
    const { namespace, name } = secret.metadata;
    try {
      await this.#client.create(secrets, secret, { namespace, fieldManager });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const present = await this.#client.get<StoredSecret>(secrets, { namespace, name });
      const { uid, resourceVersion } = present.metadata;
      const metadata = { ...secret.metadata, uid, resourceVersion };
      const merged = { ...secret, metadata, data: { ...present.data, ...data } };
      await this.#client.replace(secrets, { namespace, name }, merged, { fieldManager });
    }
  }
}

export const loginSecretsMoved: TransitionEvent = {
  type: 'Normal',
  reason: reasons.secretsMoved,
  action: 'Move',
  note: 'Login data was moved out of the spec into a Secret in the system namespace.',
};

interface StoredSecret extends KubeObject {
  readonly data?: LoginData;
}

const renderLoginSecret = (record: CredentialRecord, data: LoginData) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  type: 'Opaque',
  metadata: {
    name: `latchkey-login-${record.uid}`,
    namespace: systemNamespace,
    labels: {
      [labels.ownerKind]: record.kind,
      [labels.ownerUID]: record.uid,
      [labels.purpose]: purposes.login,
    },
    ownerReferences: [{ apiVersion, kind: record.kind, name: record.name, uid: record.uid }],
  },
  data,
});

/** Data of a Secret: base64 by entry name. */
type LoginData = Readonly<Record<string, string>>;

interface TakenLoginData {
  readonly data: LoginData;
  /** The merge patch of `spec` that removes what was taken. */
  readonly removal: Readonly<Record<string, Readonly<Record<string, null>>>>;
}

/** Finds the login data in a spec. Entries are named after the fields that they come from. */
function takeLoginData(spec: object): TakenLoginData {
  const data: Record<string, string> = {};
  const removal: Record<string, Record<string, null>> = {};
  for (const [parent, fields] of Object.entries(loginFields)) {
    const login = asObject(asObject(spec)[parent]);
    for (const field of fields) {
      const value = asText(login[field]);
      if (value === undefined) continue;
      data[field] = Buffer.from(value).toString('base64');
      removal[parent] = { ...removal[parent], [field]: null };
    }
  }
  return { data, removal };
}
