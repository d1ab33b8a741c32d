import { mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createClient } from '../../../lab/controlplane/certificates.ts';
import { configMaps } from '../../../src/api/resources.ts';
import { createKubeClient, type KubeClient } from '../../../src/kube/client/client.ts';
import { type KubeConfigSource, kubeConfigSource } from '../../../src/kube/client/kube-config.ts';
import { KubeConfigFiles } from '../../../src/kube/client/kube-config-file.ts';
import { isUnauthorized } from '../../../src/kube/kube-error.ts';
import { watchConfigMaps } from '../../builders/watching.ts';
import { FakeApiServer } from '../../fakes/fake-api-server.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { waitFor } from '../../fakes/wait-for.ts';

let server: FakeApiServer;
let folder: string;
let clock: FakeClock;
let client: KubeClient;
let warnings: string[];

beforeEach(async () => {
  server = await FakeApiServer.start();
  folder = await mkdtemp(path.join(tmpdir(), 'latchkey-credentials-'));
  clock = new FakeClock();
  warnings = [];
});

afterEach(async () => {
  await client?.close();
  await server.stop();
  await rm(folder, { recursive: true });
});

const file = (name: string) => path.join(folder, name);
const write = (name: string, content: string) => writeFile(file(name), content);
const keep = () => undefined;

function start(kubeConfig: KubeConfig | KubeConfigSource): KubeClient {
  const warn = (_keys: object, text: string) => void warnings.push(text);
  const log = { debug: keep, info: keep, warn, error: keep };
  client = createKubeClient({ kubeConfig, userAgent: 'tester', clock, log, refreshMs: 20_000 });
  return client;
}

/** Lists what the API server saw of each request. */
const tokens = () => server.exchanges.map(({ headers }) => headers.authorization?.replace('Bearer ', ''));
const users = () => server.exchanges.map(({ user }) => user);

/** Refuses every token but this one. */
const acceptOnly = (token: () => string) =>
  server.script((exchange) => {
    if (exchange.headers.authorization === `Bearer ${token()}`) return false;
    exchange.refuse(401, 'Unauthorized');
    return true;
  });

const documentOf = (cluster: object, user: object) => ({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [{ name: 'c', cluster }],
  users: [{ name: 'u', user }],
  contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
  'current-context': 'x',
});

const kubeconfig = async (user: object): Promise<string> => {
  const caData = Buffer.from(server.authority.certificate).toString('base64');
  const cluster = { server: server.url, 'certificate-authority-data': caData };
  await write('kubeconfig', JSON.stringify(documentOf(cluster, user)));
  return file('kubeconfig');
};

async function certificateFiles(user: string): Promise<void> {
  const { certificate, key } = createClient(server.authority, { user });
  await write('client.crt', certificate);
  await write('client.key', key);
}

/** Reads files again behind the next request, and waits until that is done. */
const refresh = async (): Promise<void> => {
  clock.advance(20_000);
  await client.list(configMaps);
  await clock.settle();
};

describe('in the cluster', () => {
  async function serviceAccount(): Promise<KubeConfigSource> {
    await write('token', 'token-1\n');
    await write('ca.crt', server.authority.certificate);
    const { hostname, port } = new URL(server.url);
    const env = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port };
    return kubeConfigSource({ env, serviceAccountFolder: folder });
  }

  it('uses the token of the ServiceAccount and verifies the server', async () => {
    await start(await serviceAccount()).list(configMaps);
    expect(tokens()).toEqual(['token-1']);
  });

  /** The first token was used; from now on the server takes only the next one, which stands in the file. */
  const replaceToken = async (): Promise<void> => {
    let valid = 'token-1';
    acceptOnly(() => valid);
    start(await serviceAccount());
    await client.list(configMaps);
    valid = 'token-2';
    await write('token', valid);
    clock.advance(1_000);
  };

  it('takes up a new token at once when the old one is refused', async () => {
    await replaceToken();
    await client.list(configMaps);
    expect(tokens()).toEqual(['token-1', 'token-1', 'token-2']);
    expect(server.handshakes).toBeLessThanOrEqual(2);
  });

  it('takes it up for a watch too', async () => {
    await replaceToken();
    const abort = new AbortController();
    const watching = watchConfigMaps(client, abort.signal, { onOpen: () => abort.abort() });
    await expect(watching).rejects.toThrow('aborted');
    expect(tokens()).toEqual(['token-1', 'token-1', 'token-2']);
  });

  it('reports a refusal when there is no other token, and reads files only once a second for it', async () => {
    const source = await serviceAccount();
    let loads = 0;
    const load = (fresh?: boolean) => {
      loads++;
      return source.load(fresh);
    };
    acceptOnly(() => 'other');
    start({ load });
    for (let n = 0; n < 5; n++) {
      expect(isUnauthorized(await client.list(configMaps).catch((error: unknown) => error))).toBe(true);
    }
    expect(loads).toBe(1);
    clock.advance(1_000);
    await client.list(configMaps).catch(keep);
    expect(loads).toBe(2);
  });

  it.each([
    ['token', '', 'holds no token'],
    ['token', 'two\nlines', 'holds no token'],
    ['ca.crt', undefined, 'cannot be read'],
    ['ca.crt', '', 'holds no certificate'],
  ])('says what is wrong with the file %s', async (name, content, problem) => {
    const source = await serviceAccount();
    if (content === undefined) await rm(file(name));
    else await write(name, content);
    await expect(start(source).list(configMaps)).rejects.toThrow(
      `cannot use the kubeconfig: ${file(name)} ${problem}`,
    );
  });

  it('goes on with the old token while the file is not there, and says so', async () => {
    start(await serviceAccount());
    await client.list(configMaps);
    await rm(file('token'));
    clock.advance(1_000);
    server.once(
      () => true,
      (exchange) => exchange.refuse(401, 'Unauthorized'),
    );
    await client.list(configMaps).catch(keep);
    await client.list(configMaps);
    expect(tokens()).toEqual(['token-1', 'token-1', 'token-1']);
    expect(warnings).toEqual(['cluster credentials could not be read again; the old ones stay in use']);
  });
});

describe('with a kubeconfig', () => {
  it('uses a token, an inline one or one of a file', async () => {
    await start(kubeConfigSource({ file: await kubeconfig({ token: 'inline' }) })).list(configMaps);
    await client.close();
    await write('token', 'from-file\n');
    await start(kubeConfigSource({ file: await kubeconfig({ tokenFile: 'token', token: 'old' }) })).list(
      configMaps,
    );
    expect(tokens()).toEqual(['inline', 'from-file']);
  });

  it('takes up a new file, on the same connections', async () => {
    start(kubeConfigSource({ file: await kubeconfig({ token: 'token-1' }) }));
    await client.list(configMaps);
    await kubeconfig({ token: 'token-22' });
    await refresh();
    await client.list(configMaps);
    expect(tokens()).toEqual(['token-1', 'token-1', 'token-22']);
    expect(server.handshakes).toBeLessThanOrEqual(2);
  });

  const startWithCertificate = async (user: string): Promise<void> => {
    await certificateFiles(user);
    const files = { 'client-certificate': 'client.crt', 'client-key': 'client.key' };
    start(kubeConfigSource({ file: await kubeconfig(files) }));
  };

  it('opens new connections with a new client certificate, and closes the old ones', async () => {
    await startWithCertificate('first');
    await client.list(configMaps);
    await certificateFiles('second');
    await refresh();
    const before = server.handshakes;
    await client.list(configMaps);
    expect(users()).toEqual(['first', 'first', 'second']);
    expect(server.handshakes).toBe(before + 1);
    await waitFor('old connections closed', () => server.openSockets === 1);
  });

  it('lets a watch of the old certificate live until it ends', async () => {
    await startWithCertificate('first');
    const seen: unknown[] = [];
    const onEvent = (object: unknown) => void seen.push(object);
    const watching = watchConfigMaps(client, new AbortController().signal, { onEvent });
    await waitFor('the watch', () => server.watches.length === 1);
    await certificateFiles('second');
    await refresh();
    await client.list(configMaps);
    server.storage('configmaps').put({ metadata: { name: 'a' } });
    await waitFor('the event', () => seen.length === 1);
    server.watches[0]!.response.end();
    await watching;
    await waitFor('the old connection closed', () => server.openSockets === 1);
  });

  it('keeps what it has while the file is broken, and takes up the repaired one', async () => {
    start(kubeConfigSource({ file: await kubeconfig({ token: 'token-1' }) }));
    await client.list(configMaps);
    await write('kubeconfig', ': : not yaml {{{ token: secret');
    await refresh();
    expect(warnings).toEqual(['cluster credentials could not be read again; the old ones stay in use']);
    await kubeconfig({ token: 'token-3' });
    await refresh();
    await client.list(configMaps);
    expect(tokens()).toEqual(['token-1', 'token-1', 'token-1', 'token-3']);
  });

  it('passes on impersonation', async () => {
    await start(kubeConfigSource({ file: await kubeconfig({ token: 't', as: 'someone' }) })).list(configMaps);
    expect(server.exchanges[0]?.headers['impersonate-user']).toBe('someone');
  });

  it.each([
    ['with the request', 10_000, { code: 'ERR_KUBE_TIMEOUT' }],
    [
      'before a request that waits longer, and says why',
      60_000,
      {
        code: 'ERR_KUBECONFIG',
        message: 'cannot use the kubeconfig: its credentials did not arrive within 30000 ms',
      },
    ],
  ])('gives up on a credential plug-in that hangs: %s', async (_, timeoutMs, expected) => {
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'sleep', args: ['2'] };
    start(kubeConfigSource({ file: await kubeconfig({ exec }) }));
    const outcome = client.list(configMaps, { timeoutMs }).catch((error: unknown) => error);
    await clock.settle();
    clock.advance(30_000);
    expect((await outcome) as Error).toMatchObject(expected);
  });

  it.each([
    ['an http server', 'http://127.0.0.1:1', {}, 'clusters[].cluster.server must be an https URL'],
    [
      'a proxy',
      'https://127.0.0.1:1',
      { 'proxy-url': 'http://proxy' },
      'proxy-url is not supported: remove it',
    ],
  ])('refuses %s with a clear message', async (_what, url, more, problem) => {
    const kubeConfig = new KubeConfig();
    kubeConfig.loadFromString(JSON.stringify(documentOf({ server: url, ...more }, {})));
    await expect(start(kubeConfig).list(configMaps)).rejects.toThrow(`cannot use the kubeconfig: ${problem}`);
  });
});

describe('finding credentials', () => {
  it('says what is missing', async () => {
    const home = process.env.HOME;
    process.env.HOME = folder;
    try {
      expect(() => kubeConfigSource({ env: {}, serviceAccountFolder: folder })).toThrow(
        `cannot use the kubeconfig: KUBECONFIG is not set, and neither ${folder}/token nor ${folder}/.kube/config is there`,
      );
    } finally {
      process.env.HOME = home;
    }
  });

  it.each([
    ['a file that is not there', undefined, 'is not there'],
    ['a file that is no kubeconfig', ': : {{{ token: lk_secret', 'is not a valid kubeconfig'],
  ])('says what is wrong with %s, without quoting it', async (_what, content, problem) => {
    if (content !== undefined) await write('kubeconfig', content);
    const source = kubeConfigSource({ env: { KUBECONFIG: file('kubeconfig') } });
    const outcome = Promise.resolve(source.load()).catch((error: Error) => error.message);
    expect(await outcome).toBe(`cannot use the kubeconfig: ${file('kubeconfig')} ${problem}`);
  });

  it('merges the files that KUBECONFIG names; the first has the current context', async () => {
    const named = async (name: string) => {
      const one = await kubeconfig({ token: name });
      const renamed = await readFile(one, 'utf8');
      await write(
        name,
        renamed
          .replaceAll('"u"', `"u-${name}"`)
          .replaceAll('"c"', `"c-${name}"`)
          .replaceAll('"x"', `"x-${name}"`),
      );
      return file(name);
    };
    const [first, second] = [await named('one'), await named('two')];
    const kubeConfig = new KubeConfigFiles([first, second]).read();
    expect([kubeConfig.getCurrentContext(), kubeConfig.getContexts().length]).toEqual(['x-one', 2]);
    const source = kubeConfigSource({ env: { KUBECONFIG: `${first}:${second}` } });
    await start(source).list(configMaps);
    expect(tokens()).toEqual(['one']);
  });

  it('reads an unchanged file once', async () => {
    const source = new KubeConfigFiles([await kubeconfig({ token: 'a' })]);
    const first = source.read();
    expect(source.read()).toBe(first);
    await utimes(file('kubeconfig'), 1, 1);
    expect(source.read()).not.toBe(first);
    expect(source.read(true)).not.toBe(source.read(true));
  });
});
