import { type Api, entryOf, type Stored, secretAt, type Target } from '../../../lab/operator/api.ts';
import type { World } from '../../../lab/operator/world.ts';

/** An access key and everything that can hang on one: children and grandchildren of both kinds, in the object and in Secrets. */
export interface Family {
  readonly root: Stored;
  readonly children: readonly Stored[];
  readonly grandchildren: readonly Stored[];
  readonly secrets: readonly Target[];
  /** The bearer strings of all those credentials; the root's first. */
  readonly bearers: readonly string[];
}

/** Makes a family and waits until each of it works. */
export async function makeFamily({ admin, name }: World): Promise<Family> {
  const places = [name('secret'), name('secret')].map((secret) => ({ namespace: 'default', name: secret }));
  const root = await admin.untilReady(await admin.createKey({ user: 'alice' }));
  const accessKey = root.metadata.name;
  const [childKey, ...children] = await allReady(admin, [
    await admin.createKey({ accessKey }),
    await admin.createKey({ accessKey, secretRef: places[0] }),
    await admin.createToken({ accessKey }),
    await admin.createToken({ accessKey, secretRef: places[1] }),
  ]);
  if (childKey === undefined) throw new TypeError('no child');
  const grandchildren = await allReady(admin, [
    await admin.createKey({ accessKey: childKey.metadata.name }),
    await admin.createToken({ accessKey: childKey.metadata.name }),
  ]);
  const shown = [root, childKey, ...children, ...grandchildren].flatMap(
    ({ spec, status }) => spec.key ?? status.token ?? [],
  );
  const secrets = places.map((place) => secretAt(place.namespace, place.name));
  const [hiddenKey, hiddenToken] = await Promise.all(secrets.map((secret) => admin.get(secret)));
  if (hiddenKey === undefined || hiddenToken === undefined) throw new TypeError('no Secrets');
  return {
    root,
    children: [childKey, ...children],
    grandchildren,
    secrets,
    bearers: [...shown, entryOf(hiddenKey, 'key'), entryOf(hiddenToken, 'token')],
  };
}

async function allReady(admin: Api, made: readonly Stored[]): Promise<readonly Stored[]> {
  return await Promise.all(made.map((object) => admin.untilReady(object)));
}
