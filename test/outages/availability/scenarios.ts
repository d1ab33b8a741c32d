import { expect } from 'vitest';
import { type Api, entryOf, type Stored, secretAt } from '../../../lab/operator/api.ts';
import { until } from '../../../lab/operator/until.ts';
import type { Write } from '../../../lab/operator/write.ts';
import { annotations, labels, systemNamespace } from '../../../src/api/names.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { secrets } from '../../../src/api/resources.ts';
import { credentialHash } from '../../../src/credentials/keys/credential-hash.ts';
import { hashForm } from '../../e2e/lifecycle/hash-form.ts';

/** Something that the operator does in several writes, all of them to objects that bear the name of the subject. */
export interface Scenario {
  /** A phrase for what happens, for the title of a test. */
  readonly title: string;
  /** The writes that it takes, in order. */
  readonly writes: readonly string[];
  readonly prepare?: (subject: Subject) => Promise<unknown>;
  /** Makes it begin. */
  readonly begin: (subject: Subject) => Promise<unknown>;
  /** Waits until it is done, and checks what came of it. */
  readonly end: (subject: Subject) => Promise<void>;
}

/** One key or token of a test, what belongs to it, and what was confirmed for it so far. */
export class Subject {
  readonly api: Api;
  readonly name: string;
  readonly #confirmed: () => Promise<readonly string[]>;
  /** Names of Secrets that are named by its UID. */
  readonly #belongings = new Set<string>();
  #object: Stored | undefined;

  constructor(api: Api, name: string, confirmed: () => Promise<readonly string[]>) {
    this.api = api;
    this.name = name;
    this.#confirmed = confirmed;
  }

  /** As it was when it was made. */
  get object(): Stored {
    if (this.#object === undefined) throw new Error('nothing was made yet');
    return this.#object;
  }

  /** Hashes of the credentials that the operator has confirmed, in order. */
  async confirmed(): Promise<readonly string[]> {
    return await this.#confirmed();
  }

  /** Whether the write is about this object or about a Secret of it. Events are no part of what is done. */
  readonly isMeantBy = ({ plural, name, body }: Write): boolean => {
    if (plural === 'events') return false;
    if (body?.metadata?.ownerReferences?.[0]?.name === this.name) this.#belongings.add(name);
    return name.startsWith(this.name) || this.#belongings.has(name);
  };

  /** Where `spec.secretRef` may lead. */
  place(suffix = ''): { readonly namespace: string; readonly name: string } {
    return { namespace: 'default', name: `${this.name}${suffix}` };
  }

  async key(spec: object): Promise<void> {
    this.#object = await this.api.createKey({ user: 'alice', ...spec }, { name: this.name });
  }

  async token(spec: object): Promise<void> {
    this.#object = await this.api.createToken(spec, { name: this.name });
  }

  async patch(spec: object): Promise<void> {
    await this.api.patch(this.object, { spec });
  }

  async untilReady(): Promise<Stored> {
    return await this.api.untilReady(this.object);
  }

  async untilSerial(serial: number): Promise<Stored> {
    const holds = ({ status }: Stored) => status.serial === serial;
    return await this.api.until(this.object, `serial ${serial}`, holds);
  }

  /** The Secrets that were made for it, wherever they are. */
  async secrets(): Promise<readonly Stored[]> {
    const labelSelector = `${labels.ownerUID}=${this.object.metadata.uid}`;
    return (await this.api.client.list<Stored>(secrets, { labelSelector })).items;
  }

  /** The credential in its only Secret. */
  async secretCredential(entry: string, suffix = ''): Promise<string> {
    const places = (await this.secrets()).map(({ metadata: { namespace, name } }) => ({ namespace, name }));
    expect(places).toEqual([this.place(suffix)]);
    const { namespace, name } = this.place(suffix);
    return entryOf(await this.api.get(secretAt(namespace, name)), entry);
  }
}

/** The credential is the only one that was ever confirmed. */
async function expectIssuedOnce(subject: Subject, { status }: Stored, credential: string): Promise<void> {
  expect(status).toMatchObject({ serial: 1, credentialHash: credentialHash(credential) });
  expect(await subject.confirmed()).toEqual([status.credentialHash]);
}

/** The credential followed another one, and those two are all. */
async function expectIssuedTwice(subject: Subject, { status }: Stored, credential: string): Promise<void> {
  const confirmed = await subject.confirmed();
  expect(status).toMatchObject({ serial: 2, credentialHash: credentialHash(credential) });
  expect(confirmed).toHaveLength(2);
  expect(confirmed[1]).toBe(status.credentialHash);
}

const generatedKey: Scenario = {
  title: 'generating a key',
  writes: ['PATCH ownedaccesskeys', 'PATCH ownedaccesskeys/status'],
  begin: async (subject) => await subject.key({}),
  end: async (subject) => {
    const key = await subject.untilReady();
    expect(key.status.keySource).toBe('Generated');
    await expectIssuedOnce(subject, key, key.spec.key);
  },
};

const keyInSecret: Scenario = {
  title: 'putting a key into a Secret',
  writes: ['POST secrets', 'PATCH ownedaccesskeys/status'],
  begin: async (subject) => await subject.key({ secretRef: subject.place() }),
  end: async (subject) => {
    const key = await subject.untilReady();
    expect(key.status.keySource).toBe('Secret');
    expect(key.spec.key).toBeUndefined();
    await expectIssuedOnce(subject, key, await subject.secretCredential('key'));
  },
};

const disabledKeyInSecret: Scenario = {
  title: 'saying on a Secret that its key is disabled',
  writes: ['PATCH ownedaccesskeys/status', 'PUT secrets'],
  prepare: async (subject) => {
    await subject.key({ secretRef: subject.place() });
    await subject.untilReady();
  },
  begin: async (subject) => await subject.patch({ disabled: true }),
  end: async (subject) => {
    const { namespace, name } = subject.place();
    const says = ({ metadata }: Stored) => metadata.annotations?.[annotations.reason] === reasons.disabled;
    await subject.api.until(secretAt(namespace, name), 'the Secret to say so', says);
    const key = await subject.api.untilRefused(subject.object, reasons.disabled);
    await expectIssuedOnce(subject, key, await subject.secretCredential('key'));
  },
};

const rotatedKey: Scenario = {
  title: 'rotating a generated key',
  writes: ['PATCH ownedaccesskeys', 'PATCH ownedaccesskeys/status'],
  prepare: async (subject) => {
    await subject.key({});
    await subject.untilReady();
  },
  begin: async ({ api, object }) => await api.annotate(object, { [annotations.rotate]: 'now' }),
  end: async (subject) => {
    const key = await subject.untilSerial(2);
    expect(key.status).toMatchObject({ keySource: 'Generated', observedRotation: 'now' });
    await expectIssuedTwice(subject, key, key.spec.key);
  },
};

const movedKey: Scenario = {
  title: 'moving a key to another Secret',
  writes: ['POST secrets', 'PATCH ownedaccesskeys/status', 'DELETE secrets'],
  prepare: async (subject) => {
    await subject.key({ secretRef: subject.place() });
    await subject.untilReady();
  },
  begin: async (subject) => await subject.patch({ secretRef: subject.place('-moved') }),
  end: async (subject) => {
    const key = await subject.untilReady();
    const { namespace, name } = subject.place();
    await subject.api.untilGone(secretAt(namespace, name));
    await expectIssuedTwice(subject, key, await subject.secretCredential('key', '-moved'));
  },
};

const endedKey: Scenario = {
  title: 'ending a key',
  writes: ['PATCH ownedaccesskeys', 'PATCH ownedaccesskeys/status'],
  prepare: async (subject) => {
    await subject.key({});
    await subject.untilReady();
    const created = Date.parse(subject.object.metadata.creationTimestamp);
    await until('the key is a second old', async () => Date.now() > created + 1_000);
  },
  begin: async (subject) => await subject.patch({ ttl: 1 }),
  end: async (subject) => {
    const key = await subject.api.untilRefused(subject.object, reasons.expired);
    expect(key.spec.disabled).toBe(true);
    expect(key.status).toMatchObject({ active: false, disabledByExpiry: key.metadata.generation });
    await expectIssuedOnce(subject, key, key.spec.key);
  },
};

const leavesNothing: Scenario['end'] = async (subject) => {
  await subject.api.untilGone(subject.object);
  expect(await subject.secrets()).toEqual([]);
  expect(await subject.confirmed()).toHaveLength(1);
};

const deletedKey: Scenario = {
  title: 'deleting a key and its Secret',
  writes: ['DELETE secrets', 'PATCH ownedaccesskeys'],
  prepare: async (subject) => {
    await subject.key({ secretRef: subject.place() });
    await subject.untilReady();
  },
  begin: async ({ api, object }) => await api.delete(object),
  end: leavesNothing,
};

const loginData: Scenario = {
  title: 'moving login data out of a key',
  writes: ['POST secrets', 'PATCH ownedaccesskeys', 'PATCH ownedaccesskeys/status'],
  begin: async (subject) => {
    await subject.key({ key: hashForm(subject.name), identity: { connectorData: 'the login data' } });
  },
  end: async (subject) => {
    const key = await subject.untilReady();
    expect(key.spec.identity).not.toHaveProperty('connectorData');
    const login = secretAt(systemNamespace, `latchkey-login-${key.metadata.uid}`);
    expect(entryOf(await subject.api.get(login), 'connectorData')).toBe('the login data');
    await expectIssuedOnce(subject, key, subject.name);
  },
};

/** A later login brings another token; what was moved before stays. */
const moreLoginData: Scenario = {
  title: 'moving more login data out of a key',
  writes: ['POST secrets', 'PUT secrets', 'PATCH ownedaccesskeys', 'PATCH ownedaccesskeys/status'],
  prepare: async (subject) => {
    await subject.key({ key: hashForm(subject.name), identity: { connectorData: 'the login data' } });
    await subject.untilReady();
  },
  begin: async (subject) => await subject.patch({ oidcLogin: { idToken: 'the token' } }),
  end: async (subject) => {
    const key = await subject.untilReady();
    expect(key.spec.oidcLogin).not.toHaveProperty('idToken');
    const login = await subject.api.get(secretAt(systemNamespace, `latchkey-login-${key.metadata.uid}`));
    expect(entryOf(login, 'connectorData')).toBe('the login data');
    expect(entryOf(login, 'idToken')).toBe('the token');
    await expectIssuedOnce(subject, key, subject.name);
  },
};

const inlineToken: Scenario = {
  title: 'signing a token',
  writes: ['PATCH directclusterendpointtokens/status'],
  begin: async (subject) => await subject.token({}),
  end: async (subject) => {
    const token = await subject.untilReady();
    await expectIssuedOnce(subject, token, token.status.token);
  },
};

const tokenInSecret: Scenario = {
  title: 'putting a token into a Secret',
  writes: ['POST secrets', 'PATCH directclusterendpointtokens/status'],
  begin: async (subject) => await subject.token({ secretRef: subject.place() }),
  end: async (subject) => {
    const token = await subject.untilReady();
    expect(token.status.token).toBeUndefined();
    await expectIssuedOnce(subject, token, await subject.secretCredential('token'));
  },
};

/** The renewal is due when the parent, which ended first, gets a longer life. */
const renewedToken: Scenario = {
  title: 'renewing a token in a Secret',
  writes: ['POST secrets', 'PUT secrets', 'PATCH directclusterendpointtokens/status'],
  prepare: async (subject) => {
    const accessKey = `parent-of-${subject.name}`;
    await subject.api.createKey({ user: 'alice', ttl: 3600 }, { name: accessKey });
    await subject.token({ accessKey, ttl: 7200, renewBefore: 3599, secretRef: subject.place() });
    await subject.untilReady();
  },
  begin: async ({ api, name }) => {
    const parent = { kind: 'OwnedAccessKey', metadata: { name: `parent-of-${name}` } };
    await api.patch(parent, { spec: { ttl: 36_000 } });
  },
  end: async (subject) => {
    const token = await subject.untilSerial(2);
    await expectIssuedTwice(subject, token, await subject.secretCredential('token'));
    const [first] = await subject.confirmed();
    expect(token.status.previous).toMatchObject({ serial: 1, credentialHash: first });
  },
};

const deletedToken: Scenario = {
  title: 'deleting a token and its Secret',
  writes: ['DELETE secrets', 'PATCH directclusterendpointtokens'],
  prepare: async (subject) => {
    await subject.token({ secretRef: subject.place() });
    await subject.untilReady();
  },
  begin: async ({ api, object }) => await api.delete(object),
  end: leavesNothing,
};

export const scenarios: readonly Scenario[] = [
  generatedKey,
  keyInSecret,
  disabledKeyInSecret,
  rotatedKey,
  movedKey,
  endedKey,
  deletedKey,
  loginData,
  moreLoginData,
  inlineToken,
  tokenInSecret,
  renewedToken,
  deletedToken,
];
