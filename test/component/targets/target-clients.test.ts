import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createClient } from '../../../lab/controlplane/certificates.ts';
import { configMaps } from '../../../src/api/resources.ts';
import { kubeErrorFromStatus } from '../../../src/kube/kube-error.ts';
import { targetProblemOf } from '../../../src/platform/targets/target-problem.ts';
import { adminDocument, certificateUser, type DocumentParts } from '../../builders/admin-kube-config.ts';
import { FakeApiServer } from '../../fakes/fake-api-server.ts';
import { waitFor } from '../../fakes/wait-for.ts';
import { TargetWorld } from './target-world.ts';

let server: FakeApiServer;
let world: TargetWorld;

beforeEach(async () => {
  server = await FakeApiServer.start();
  world = new TargetWorld();
});

afterEach(async () => {
  await world.clients.close();
  await server.stop();
});

const document = (parts: DocumentParts = {}) =>
  adminDocument({ server: server.url, authority: server.authority, ...parts });
const authorization = () => server.exchanges.at(-1)?.headers.authorization;

describe('opening a target', () => {
  it('speaks to it with the token of the document', async () => {
    world.put(document());
    const { client, config } = await world.openTarget();
    await client.list(configMaps);
    expect(authorization()).toBe('Bearer admin-token');
    expect(config.server.href).toBe(`${server.url}/`);
  });

  it('speaks to it with the certificate of the document', async () => {
    const own = createClient(server.authority, { user: 'target-admin' });
    world.put(document({ user: certificateUser(own) }));
    await (await world.openTarget()).client.list(configMaps);
    expect([server.exchanges.at(-1)?.user, authorization()]).toEqual(['target-admin', undefined]);
  });

  it('gives the same client as long as the document is the same', async () => {
    world.put(document());
    const first = await world.openTarget();
    await first.client.list(configMaps);
    const second = await world.openTarget();
    await second.client.list(configMaps);
    expect(second).toBe(first);
    expect(world.changes).toEqual([]);
  });

  it('closes the former client when the document changes, and says so', async () => {
    world.put(document());
    const first = await world.openTarget();
    server.once(
      () => true,
      () => undefined,
    );
    const under = first.client.list(configMaps).catch((error: unknown) => error);
    await waitFor('request under way', () => server.exchanges.length === 1);
    world.put(document({ user: { token: 'other-token' } }));
    const second = await world.openTarget();
    expect(targetProblemOf(await under)?.reason).toBe('TargetUnreachable');
    await second.client.list(configMaps);
    expect(authorization()).toBe('Bearer other-token');
    expect(world.changes).toEqual([world.source.uid]);
    expect(world.clients.known(world.source.uid)).toBe(second.config);
  });

  it.each([
    ['the Secret is gone', () => undefined],
    ['the entry is gone', () => ({ other: 'eA==' })],
    ['the entry is empty', () => ({ config: '' })],
  ])('closes the client when %s, and still knows where the target was', async (_, data) => {
    world.put(document());
    const { client, config } = await world.openTarget();
    await client.list(configMaps);
    world.data = data();
    expect(await world.openProblem()).toMatchObject({ reason: 'KubeConfigNotFound' });
    await waitFor('sockets closed', () => server.openSockets === 0);
    await expect(client.list(configMaps)).rejects.toThrow();
    expect(world.changes).toEqual([world.source.uid]);
    expect(world.clients.known(world.source.uid)).toBe(config);
  });

  it('can still be spoken to by what was read before, when the Secret is gone', async () => {
    expect(world.clients.remembered(world.source.uid)).toBeUndefined();
    world.put(document());
    await world.openTarget();
    world.data = undefined;
    await world.openProblem();
    const remembered = world.clients.remembered(world.source.uid);
    await remembered?.client.list(configMaps);
    expect(authorization()).toBe('Bearer admin-token');
    await remembered?.client.close();
    world.clients.forget(world.source.uid);
    expect(world.clients.remembered(world.source.uid)).toBeUndefined();
  });

  it.each(['latchkey-system', 'latchkey-targets'])(
    'reads no Secret in %s, where Latchkey keeps its own',
    async (namespace) => {
      let reads = 0;
      world.answer = async () => void reads++;
      const secret = { namespace, name: 'latchkey-target-1', key: 'token' };
      const opened = await world.clients.open({ ...world.source, secret });
      expect(opened).toMatchObject({ problem: { reason: 'KubeConfigRefused' } });
      expect(reads).toBe(0);
    },
  );

  it('names the Secret and the entry that are missing', async () => {
    const { namespace, name, key } = world.source.secret;
    const absent = await world.openProblem();
    expect(absent.message).toContain(
      `The Secret "${name}" in the namespace "${namespace}" does not exist: create it`,
    );
    world.data = {};
    const incomplete = await world.openProblem();
    expect(incomplete.message).toContain(`has no entry "${key}": add`);
  });

  it.each([
    ['Cluster API', 'value', /: it has "value"\. Set spec\.kubeConfigSecretRef\.key to "value"/],
    ['Kamaji', 'admin.conf', /: it has "admin\.conf"\. Set spec\.kubeConfigSecretRef\.key to "admin\.conf"/],
    ['no tool that is known', 'of-a-tenant', /: add the administrator kubeconfig under this name\.$/],
  ])('names the entry that the Secret has, of %s', async (_, entry, message) => {
    world.data = { [entry]: 'a' };
    expect((await world.openProblem()).message).toMatch(message);
  });

  it('does not take a property of every object for an entry', async () => {
    world.data = {};
    const source = { ...world.source, secret: { ...world.source.secret, key: 'constructor' } };
    expect(await world.clients.open(source)).toMatchObject({ problem: { reason: 'KubeConfigNotFound' } });
  });

  it('closes the client when the document is refused from now on', async () => {
    world.put(document());
    await (await world.openTarget()).client.list(configMaps);
    world.put(document({ user: { exec: { command: 'true' } } }));
    expect(await world.openProblem()).toMatchObject({ reason: 'KubeConfigRefused' });
    await waitFor('sockets closed', () => server.openSockets === 0);
    expect(world.changes).toEqual([world.source.uid]);
    world.put(document());
    await (await world.openTarget()).client.list(configMaps);
    expect(world.changes).toEqual([world.source.uid, world.source.uid]);
  });

  it('rejects when the platform itself cannot answer, and keeps what it has', async () => {
    world.put(document());
    const { client } = await world.openTarget();
    const answer = world.answer;
    const error = kubeErrorFromStatus({ verb: 'GET', path: '/' }, 403, undefined);
    world.answer = () => Promise.reject(error);
    await expect(world.open()).rejects.toBe(error);
    expect(targetProblemOf(error)).toBeUndefined();
    world.answer = answer;
    expect((await world.openTarget()).client).toBe(client);
  });

  it('never lets an answer that is late replace a newer one', async () => {
    const late = Promise.withResolvers<unknown>();
    world.put(document());
    const old = { metadata: { name: 'vc-one' }, data: world.data };
    const answer = world.answer;
    world.answer = () => late.promise;
    const first = world.open();
    world.answer = answer;
    world.put(document({ user: { token: 'newer-token' } }));
    const second = world.open();
    late.resolve(old);
    await Promise.all([first, second]);
    expect(world.clients.known(world.source.uid)?.token).toBe('newer-token');
  });

  it('logs neither text of the document nor a target', async () => {
    world.put(document());
    await world.openTarget();
    world.put(document({ user: { token: 'other-token' } }));
    await world.openTarget();
    expect(world.logged).toEqual([
      JSON.stringify([{ uid: world.source.uid }, 'the kubeconfig of a target changed']),
    ]);
  });
});

describe('the server that an instance chooses', () => {
  const choose = (choice: { readonly server?: string; readonly service?: string }) =>
    world.clients.open({ ...world.source, secret: { ...world.source.secret, ...choice } });

  it('is dialled with the credentials and the authority of the document', async () => {
    world.put(document({ server: 'https://localhost:8443' }));
    const opened = await choose({ server: server.url });
    if ('problem' in opened) throw new Error(opened.problem.message);
    await opened.target.client.list(configMaps);
    expect(authorization()).toBe('Bearer admin-token');
    expect(opened.target.config.server.href).toBe(`${server.url}/`);
  });

  it('is dialled by a client of its own', async () => {
    world.put(document({ server: 'https://localhost:8443' }));
    const first = await choose({ service: 'https://shop.p-one' });
    const second = await choose({ server: server.url });
    expect(second).not.toBe(first);
    expect(world.changes).toEqual([world.source.uid]);
    expect(world.clients.known(world.source.uid)?.server.href).toBe(`${server.url}/`);
  });

  it('gets no credentials when another authority vouches for it', async () => {
    const stranger = await FakeApiServer.start();
    for (const user of [
      { token: 'admin-token' },
      certificateUser(createClient(server.authority, { user: 'a' })),
    ]) {
      world.put(document({ user }));
      const opened = await choose({ server: stranger.url });
      if ('problem' in opened) throw new Error(opened.problem.message);
      const asked = opened.target.client.list(configMaps).catch((error: unknown) => error);
      expect(targetProblemOf(await asked)?.reason).toBe('TargetNotTrusted');
    }
    expect(stranger.exchanges).toEqual([]);
    await stranger.stop();
  });

  it.each(['https://169.254.169.254', 'https://[fe80::1]'])('is not %s', async (address) => {
    world.put(document());
    expect(await choose({ server: address })).toMatchObject({ problem: { reason: 'AddressRefused' } });
  });

  it('that is no https URL is refused in its own name, and the server of the document is not dialled', async () => {
    world.put(document());
    const opened = await choose({ server: 'http://user:canary@shop' });
    expect(opened).toMatchObject({
      problem: {
        reason: 'KubeConfigRefused',
        message: expect.stringMatching(/^spec\.server is not an https URL/),
      },
    });
    expect(JSON.stringify(opened)).not.toContain('canary');
    expect(server.handshakes).toBe(0);
  });
});

describe('as somebody else', () => {
  it('speaks to the same server without the credentials of the document', async () => {
    const own = createClient(server.authority, { user: 'target-admin' });
    world.put(document({ user: certificateUser(own) }));
    const { config } = await world.openTarget();
    const client = world.clients.as(config, 'impersonator-token');
    await client.list(configMaps);
    expect([server.exchanges.at(-1)?.user, authorization()]).toEqual([
      undefined,
      'Bearer impersonator-token',
    ]);
    await client.close();
  });

  it.each(['', 'a b', 'a\r\nx-header: y'])(
    'takes no token that would break the header: %j',
    async (token) => {
      world.put(document());
      const { config } = await world.openTarget();
      const error = await Promise.resolve()
        .then(() => world.clients.as(config, token))
        .catch((reason: unknown) => reason);
      expect(targetProblemOf(error)?.reason).toBe('TargetAnswer');
    },
  );
});

describe('the write guard', () => {
  it('keeps writes from targets, of both kinds of clients', async () => {
    const lost = new Error('not leading');
    const guarded = new TargetWorld({
      writeGuard: () => {
        throw lost;
      },
    });
    guarded.put(document());
    const { client, config } = await guarded.openTarget();
    const other = guarded.clients.as(config, 'impersonator-token');
    const write = { metadata: { name: 'a' } };
    await expect(client.create(configMaps, write, { namespace: 'ns' })).rejects.toBe(lost);
    await expect(other.create(configMaps, write, { namespace: 'ns' })).rejects.toBe(lost);
    await client.list(configMaps);
    expect(server.exchanges.map(({ method }) => method)).toEqual(['GET']);
    await Promise.all([other.close(), guarded.clients.close()]);
  });
});

describe('forgetting', () => {
  it('closes the client and forgets where the target was', async () => {
    world.put(document());
    await (await world.openTarget()).client.list(configMaps);
    world.clients.forget(world.source.uid);
    await waitFor('sockets closed', () => server.openSockets === 0);
    expect(world.clients.known(world.source.uid)).toBeUndefined();
  });

  it('keeps what leads into the target until nothing is to be revoked there any more, and only for that', async () => {
    const { uid } = world.source;
    world.put(document());
    const { client, config } = await world.openTarget();
    await client.list(configMaps);
    world.owed.set(uid, config.ca);
    world.clients.forget(uid);
    await waitFor('sockets closed', () => server.openSockets === 0);
    expect(world.clients.known(uid)).toBeUndefined();
    world.data = undefined;
    expect((await world.openProblem()).reason).toBe('KubeConfigNotFound');
    world.clients.forget(uid);
    const remembered = world.clients.remembered(uid);
    await remembered?.client.list(configMaps);
    expect(server.exchanges).toHaveLength(2);
    expect(authorization()).toBe('Bearer admin-token');
    await remembered?.client.close();
    world.owed.delete(uid);
    world.clients.forget(uid);
    expect(world.clients.remembered(uid)).toBeUndefined();
  });

  it('keeps nothing that leads elsewhere', async () => {
    const { uid } = world.source;
    world.put(document());
    await world.openTarget();
    world.owed.set(uid, 'another authority');
    world.clients.forget(uid);
    expect(world.clients.remembered(uid)).toBeUndefined();
  });

  it('keeps what leads into the last 200 targets of one namespace, and no more', async () => {
    world.put(document());
    const { config } = await world.openTarget();
    const goes = async (uid: string, namespace: string) => {
      world.owed.set(uid, config.ca);
      await world.clients.open({ uid, secret: { ...world.source.secret, namespace } });
      world.clients.forget(uid);
    };
    const isKept = async (uid: string) => {
      const remembered = world.clients.remembered(uid);
      await remembered?.client.close();
      return remembered !== undefined;
    };
    await goes('other', 'p-other');
    for (let count = 1; count <= 200; count++) await goes(`full-${count}`, 'p-full');
    expect(await isKept('full-1')).toBe(true);
    await goes('full-201', 'p-full');
    expect(await Promise.all(['full-1', 'full-2', 'full-201', 'other'].map(isKept))).toEqual([
      false,
      true,
      true,
      true,
    ]);
  });

  it('leaves no client behind for a target that is being opened', async () => {
    const late = Promise.withResolvers<unknown>();
    world.put(document());
    const answer = { metadata: { name: 'vc-one' }, data: world.data };
    world.answer = () => late.promise;
    const opening = world.open();
    world.clients.forget(world.source.uid);
    late.resolve(answer);
    await expect(opening).rejects.toThrow('forgotten');
    expect(world.clients.known(world.source.uid)).toBeUndefined();
  });

  it('happens to all at the end', async () => {
    world.put(document());
    await (await world.openTarget()).client.list(configMaps);
    await world.clients.close();
    await waitFor('sockets closed', () => server.openSockets === 0);
    await expect(world.open()).rejects.toThrow('closed');
  });
});
