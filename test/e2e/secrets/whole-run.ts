import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { type Api, entryOf, type Stored, secretAt } from '../../../lab/operator/api.ts';
import { type Kubectl, placeOf } from '../../../lab/operator/kubectl.ts';
import { manifestOf } from '../../../lab/operator/manifest.ts';
import { until } from '../../../lab/operator/until.ts';
import type { World } from '../../../lab/operator/world.ts';
import { annotations, systemNamespace, systemObjects } from '../../../src/api/names.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { directClusterEndpointTokens, ownedAccessKeys, secrets } from '../../../src/api/resources.ts';
import { generateAccessKey } from '../../../src/credentials/keys/access-key.ts';
import { credentialHash } from '../../../src/credentials/keys/credential-hash.ts';
import type { KnownSecrets } from './known-secrets.ts';

const newKey = (): string => generateAccessKey(randomBytes(32));
const inSpec = ({ metadata }: Stored): string => `OwnedAccessKey/${metadata.name} spec.key`;
const inStatus = ({ metadata }: Stored): string => `DirectClusterEndpointToken/${metadata.name} status.token`;
const inSecret = ({ namespace, name }: Place, entry: string): string =>
  `Secret/${namespace}/${name} data.${entry}`;

interface Place {
  readonly namespace: string;
  readonly name: string;
}

/** Everything that can be done with credentials, each secret of it noted with the places that it is meant for. */
export class WholeRun {
  readonly #world: World;
  readonly #admin: Api;
  readonly #kubectl: Kubectl;
  readonly #known: KnownSecrets;
  /** The messages that kubectl got with refusals. */
  readonly refusals: string[] = [];

  constructor(world: World, kubectl: Kubectl, known: KnownSecrets) {
    this.#world = world;
    this.#admin = world.admin;
    this.#kubectl = kubectl;
    this.#known = known;
  }

  async generatedKeys(): Promise<void> {
    const key = await this.#apply(ownedAccessKeys, { user: 'alice' });
    this.#known.add('a generated key before its rotation', key.spec.key);
    const rotated = await this.#rotate(key);
    this.#known.add('a generated key', rotated.spec.key, [inSpec(key)]);
    const deleted = await this.#apply(ownedAccessKeys, { user: 'alice' });
    this.#known.add('the generated key of an object that was deleted', deleted.spec.key);
    await this.#delete(deleted);
    const ended = await this.#apply(ownedAccessKeys, { user: 'alice' });
    await this.#kubectl.ok(['patch', ...placeOf(ended), '--type=merge', '-p', '{"spec":{"ttl":1}}']);
    await this.#admin.untilRefused(ended, reasons.expired);
    this.#known.add('a generated key that has ended', ended.spec.key, [inSpec(ended)]);
  }

  /** Supplied keys: applied, changed, shared by two objects, dropped, mistyped and refused. */
  async suppliedKeys(): Promise<void> {
    const [first, second, dropped, saved] = ['first', 'second', 'dropped', 'saved'].map(
      (word) => `${word}-supplied+key/${newKey()}~=`,
    ) as [string, string, string, string];
    const key = await this.#apply(ownedAccessKeys, { user: 'alice', key: first });
    await this.#apply(ownedAccessKeys, { user: 'alice', key: second }, key.metadata.name);
    this.#known.add('a supplied key before it was changed', first);
    const twin = await this.#make(ownedAccessKeys, { user: 'alice', key: second });
    await this.#admin.untilRefused(twin, reasons.duplicateKey);
    this.#known.add('a supplied key of two objects', second, [inSpec(key), inSpec(twin)]);
    const other = await this.#apply(ownedAccessKeys, { user: 'alice', key: dropped });
    const generated = await this.#apply(ownedAccessKeys, { user: 'alice' }, other.metadata.name);
    this.#known.add('a supplied key that was dropped', dropped);
    this.#known.add('the generated key that followed', generated.spec.key, [inSpec(other)]);
    const manifest = manifestOf(ownedAccessKeys, { user: 'alice', key: saved });
    await this.#kubectl.send('create', manifest, '--save-config');
    this.#known.add('a key made with --save-config', saved, [inSpec(await this.#admin.untilReady(manifest))]);
    const hashed = newKey();
    await this.#apply(ownedAccessKeys, { user: 'alice', key: `sha256:${credentialHash(hashed)}` });
    this.#known.add('a key of which only the hash was applied', hashed);
  }

  async refusedKeys(): Promise<void> {
    const whole = newKey();
    const mistyped = whole.slice(0, -1) + (whole.endsWith('0') ? '1' : '0');
    const malformed = await this.#make(ownedAccessKeys, { user: 'alice', key: mistyped });
    await this.#admin.untilRefused(malformed, reasons.malformedKey);
    this.#known.add('a mistyped key', mistyped, [inSpec(malformed)]);
    const badKey = `${newKey()} with a "space"`;
    const refused = await this.#kubectl.trySend(
      'apply',
      manifestOf(ownedAccessKeys, { user: 'alice', key: badKey }),
    );
    if (refused.exitCode === 0) throw new Error('a key with a space was accepted');
    this.refusals.push(refused.stderr);
    this.#known.add('a key that the API server refused', badKey);
  }

  async keysInSecrets(): Promise<void> {
    const place = this.#place();
    const key = await this.#apply(ownedAccessKeys, { user: 'alice', secretRef: place });
    this.#known.add('a key in a Secret before its rotation', await this.#entry(place, 'key'));
    await this.#rotate(key);
    this.#known.add('a key in a Secret that somebody altered', await this.#entry(place, 'key'));
    await this.#admin.client.mergePatch(secrets, place, {
      data: { key: Buffer.from('altered').toString('base64') },
    });
    await this.#admin.until(key, 'another key', ({ status }) => status.serial === 3);
    this.#known.add('a key in a Secret', await this.#entry(place, 'key'), [inSecret(place, 'key')]);
    const generated = await this.#apply(ownedAccessKeys, { user: 'alice' });
    const moved = this.#place();
    await this.#apply(ownedAccessKeys, { user: 'alice', secretRef: moved }, generated.metadata.name);
    this.#known.add('a generated key that moved to a Secret', generated.spec.key);
    this.#known.add('what it became there', await this.#entry(moved, 'key'), [inSecret(moved, 'key')]);
    const conflict = await this.#make(ownedAccessKeys, { user: 'alice', secretRef: place });
    await this.#admin.untilRefused(conflict, reasons.secretConflict);
  }

  async tokens(): Promise<void> {
    const token = await this.#apply(directClusterEndpointTokens, { ttl: 600 });
    this.#addToken('a token before its rotation', token.status.token);
    const rotated = await this.#rotate(token);
    this.#addToken('a token', rotated.status.token, [inStatus(token)]);
    const place = this.#place();
    await this.#apply(directClusterEndpointTokens, { secretRef: place });
    this.#addToken('a token in a Secret', await this.#entry(place, 'token'), [inSecret(place, 'token')]);
    const parent = await this.#make(ownedAccessKeys, { user: 'alice' });
    const child = await this.#apply(directClusterEndpointTokens, { accessKey: parent.metadata.name });
    this.#addToken('a token whose key was deleted', child.status.token);
    this.#known.add('the key that was deleted', (await this.#admin.untilReady(parent)).spec.key);
    await this.#delete(parent);
    await this.#admin.untilRefused(child, reasons.accessKeyGone);
    const large = { projects: Array.from({ length: 100 }, () => ({ project: 'x'.repeat(100) })) };
    const huge = await this.#make(directClusterEndpointTokens, { scope: large });
    await this.#admin.untilEvent(
      await this.#admin.untilRefused(huge, reasons.tokenTooLarge),
      reasons.tokenTooLarge,
    );
  }

  /** Login data, with what JSON and shells escape in it. */
  async logins(): Promise<void> {
    const text = (word: string): string => `${word} "secret"\n<&> \\ é ${randomBytes(24).toString('base64')}`;
    const data = {
      connectorData: text('connector'),
      idToken: text('id'),
      accessToken: text('access'),
      refreshToken: text('refresh'),
    };
    const { connectorData, ...oidcLogin } = data;
    const manifest = manifestOf(ownedAccessKeys, { user: 'alice', identity: { connectorData }, oidcLogin });
    await this.#kubectl.send('create', manifest);
    const { metadata } = await this.#admin.untilReady(manifest);
    const place = { namespace: systemNamespace, name: `latchkey-login-${metadata.uid}` };
    for (const [entry, value] of Object.entries(data))
      this.#known.add(`login data: ${entry}`, value, [inSecret(place, entry)]);
    const applied = text('applied');
    const refused = await this.#kubectl.trySend(
      'apply',
      manifestOf(ownedAccessKeys, { user: 'alice', identity: { connectorData: applied } }),
    );
    if (refused.exitCode === 0) throw new Error('login data was accepted in a kubectl apply');
    this.refusals.push(refused.stderr);
    this.#known.add('login data in a kubectl apply', applied);
  }

  /** Signing keys, those that are revoked among them. */
  async signingKeys(): Promise<void> {
    const place = { namespace: systemNamespace, name: systemObjects.signingKeys };
    const pems = async () =>
      Object.entries((await this.#admin.get(secretAt(place.namespace, place.name))).data ?? {}).filter(
        ([entry]) => entry.endsWith('.pem'),
      );
    const before = await pems();
    const token = await this.#apply(directClusterEndpointTokens, {});
    this.#addToken('a token that a revoked key has signed', token.status.token);
    for (const [entry, pem] of before) this.#addPrivateKey(`the revoked ${entry}`, pem);
    const otherCurve = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey;
    const garbage = Buffer.from(otherCurve.export({ type: 'pkcs8', format: 'pem' })).toString('base64');
    const revoked = Object.fromEntries(before.map(([entry]) => [entry, null]));
    await this.#admin.client.mergePatch(secrets, place, { data: { ...revoked, 'not-ours.pem': garbage } });
    const present = await until('other signing keys', async () => {
      const now = await pems();
      const fresh = now.filter(([entry]) => !before.some(([known]) => known === entry));
      return fresh.some(([entry]) => entry !== 'not-ours.pem') && fresh;
    });
    await this.#admin.until(token, 'a successor', ({ status }) => status.serial === 2);
    for (const [entry, pem] of present)
      this.#addPrivateKey(`the signing key ${entry}`, pem, [inSecret(place, entry)]);
  }

  /** With which the operator itself authenticates. */
  async ownToken(): Promise<void> {
    const folder = path.join(this.#world.plane.folder, 'kubeconfigs');
    const files = (await readdir(folder)).filter((file) => file.includes('latchkey-operator'));
    const texts = await Promise.all(
      files.map(async (file) => await readFile(path.join(folder, file), 'utf8')),
    );
    const tokens = texts.flatMap((text) => /token: "?([\w.-]+)/.exec(text)?.[1] ?? []);
    if (tokens.length === 0) throw new Error('the kubeconfig of the operator has no token');
    for (const token of tokens) this.#known.add('the token of the operator', token);
  }

  #addToken(title: string, token: string, meantFor: readonly string[] = []): void {
    this.#known.add(title, token, meantFor);
    this.#known.add(`${title}: its signature`, token.split('.')[2] ?? '', meantFor);
  }

  #addPrivateKey(title: string, base64: string, meantFor: readonly string[] = []): void {
    const [, firstLine = ''] = Buffer.from(base64, 'base64').toString().split('\n');
    this.#known.add(title, firstLine, meantFor);
  }

  async #apply(resource: typeof ownedAccessKeys, spec: object, name?: string): Promise<Stored> {
    const manifest = manifestOf(resource, spec, name === undefined ? {} : { name });
    await this.#kubectl.send('apply', manifest);
    return await this.#admin.untilReady(manifest);
  }

  /** Does not wait for it to be ready. */
  async #make(resource: typeof ownedAccessKeys, spec: object): Promise<Stored> {
    const manifest = manifestOf(resource, spec);
    await this.#kubectl.send('create', manifest);
    return await this.#admin.get(manifest);
  }

  async #rotate(object: Stored): Promise<Stored> {
    const rotation = `${annotations.rotate}=${this.#world.name('rotation')}`;
    await this.#kubectl.ok(['annotate', ...placeOf(object), rotation, '--overwrite']);
    const { serial } = object.status;
    await this.#admin.until(object, 'a successor', ({ status }) => status.serial === serial + 1);
    return await this.#admin.untilReady(object);
  }

  async #delete(object: Stored): Promise<void> {
    await this.#admin.delete(object);
    await this.#admin.untilGone(object);
  }

  #place = (): Place => ({ namespace: 'default', name: this.#world.name('secret') });

  async #entry({ namespace, name }: Place, entry: string): Promise<string> {
    return entryOf(await this.#admin.get(secretAt(namespace, name)), entry);
  }
}
