import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { Guard } from '../../../lab/controlplane/guard.ts';
import { makePod, startKubelet } from '../../../lab/kubelet/kubelet.ts';
import { uniqueName } from '../../../lab/operator/manifest.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { leastMs, until } from '../../../lab/operator/until.ts';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { browse } from '../../../lab/provider/browser.ts';
import { startProvider } from '../../../lab/provider/provider.ts';
import { TokenIssuer } from '../../../lab/provider/token-issuer.ts';
import { ownedAccessKeys } from '../../../src/api/resources.ts';
import { chooseBaseURL } from '../../../tools/demo/gateway.ts';
import { removeExchangedKeys } from './exchanged-keys.ts';
import { fourTargets } from './four-targets.ts';
import { installCommandLine } from './installed-command-line.ts';
import { untilKnown, untilReached, untilUnknown } from './known-holder.ts';
import { SeenArguments } from './seen-arguments.ts';
import { sessionRights } from './session-world.ts';

const [alice, ciShop] = [uniqueName('alice'), uniqueName('ci-shop')];
const guard = await Guard.start('login');
// The second client is for codes that no one types in time.
const clients = { 'latchkey-cli': 600, 'latchkey-brief': 2 };
const people = { alice: { preferred_username: alice, groups: ['shop-team', 'lunch'] } };
const provider = await startProvider(guard, { people, clients });
const ofAlice = { login: 'alice', password: provider.password };
const ci = await TokenIssuer.start();
const baseURL = await chooseBaseURL();
const trusted = [
  {
    issuer: provider.issuer,
    certificateAuthority: provider.ca,
    login: {
      clientID: 'latchkey-cli',
      username: { claim: 'preferred_username', prefix: '' },
      groups: { claim: 'groups', prefix: 'site:', allowed: ['shop-*'] },
    },
  },
  { issuer: ci.issuer, algorithms: ['ES256'], certificateAuthority: ci.certificateAuthority },
];
const { world, paths } = await fourTargets(
  {
    LATCHKEY_TRUSTED_ISSUERS: JSON.stringify(trusted),
    LATCHKEY_BASE_URL: baseURL,
    LATCHKEY_LISTEN_ADDRESS: new URL(baseURL).host,
  },
  alice,
);
const { admin, gateway, plane } = world;
const personAt = await installCommandLine(guard.folder, plane.binaries.kubectl);
const authority = path.join(guard.folder, 'gateway-ca.crt');
writeFileSync(authority, gateway.ca);
const place = `--base-url ${baseURL} --certificate-authority ${authority}`;
const virtualCluster = paths['virtual cluster'].replace(
  /^project\/([^/]+)\/virtualcluster\//,
  'virtualcluster/$1/',
);
const seen = new SeenArguments(guard.folder);
afterAll(async () => {
  seen.end();
  await removeExchangedKeys(plane);
  await ci.stop();
  await guard.stop();
});

/** A person whose machine trusts the provider, and who has nothing else. */
const newPerson = (name: string) => personAt(name, { NODE_EXTRA_CA_CERTS: provider.caFile });
const codeIn = (said: string) => /^Open (\S+) and type the code (\S+)\r?$/m.exec(said) ?? undefined;
type Going = ReturnType<ReturnType<typeof newPerson>['start']>;

/** Page and code, as the person reads them in the terminal. */
async function shownCode({ said }: Going): Promise<{ page: string; code: string }> {
  const [, page = '', code = ''] = await until('page and code are shown', async () => codeIn(said()), {
    seen: said,
  });
  return { page, code };
}

const childrenOf = async (parent: string) => {
  const { items } = await admin.client.list(ownedAccessKeys);
  const keys = items as readonly { readonly spec?: { readonly accessKey?: string } }[];
  return keys.filter(({ spec }) => spec?.accessKey === parent).length;
};

describe('a person who has nothing', () => {
  const person = newPerson('alice');

  it('logs in at a terminal with a code that they type elsewhere, and kubectl works', async () => {
    const login = person.startInTerminal(`login --device ${place}`);
    const { page, code } = await shownCode(login);
    expect(page).toBe(`${provider.issuer}/device`);
    await browse(page, provider.ca, { ...ofAlice, code });
    expect([await login.code, login.said()]).toEqual([
      0,
      expect.stringContaining(`You are ${alice} at ${baseURL}`),
    ]);
    expect((await person.latchkey('whoami')).stdout).toMatch(/^Groups: +.*\bsite:shop-team\b(?!.*lunch)/m);
    await untilReached(gateway, person.sessionKey(), paths['virtual cluster']);
    expect((await person.latchkey('targets -o name')).stdout.split('\n')).toContain(virtualCluster);
    expect(await person.latchkey(`kubeconfig ${virtualCluster} --merge --child-ttl 1h`)).toMatchObject({
      code: 0,
    });
    expect(await person.kubectl('get configmaps -n default -o name')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('configmap/kube-root-ca.crt'),
    });
    expect(readFileSync(person.kubeconfig, 'utf8')).not.toContain('lk_');
  });

  it('makes one renewal for twenty kubectl at once', async () => {
    const { accessKey } = JSON.parse((await person.latchkey('whoami -o json')).stdout).status;
    expect(await childrenOf(accessKey)).toBe(1);
    person.ageCache();
    const all = await Promise.all(
      Array.from({ length: 20 }, async () => await person.kubectl('get configmaps -n default')),
    );
    expect(all.map(({ code }) => code)).toEqual(Array(20).fill(0));
    expect(await childrenOf(accessKey)).toBe(2);
  });

  it('has a key of the type Login, which ends with the logout and takes all below it along', async () => {
    const key = person.sessionKey();
    const { stdout: child } = await person.latchkey('keys create --ttl 10m');
    await untilKnown(gateway, child.trim());
    const logout = await person.latchkey('logout');
    expect(logout).toMatchObject({ code: 0, stderr: expect.stringContaining('and the key is deleted') });
    await untilUnknown(gateway, key);
    await untilUnknown(gateway, child.trim());
    expect((await person.latchkey('whoami')).code).toBe(2);
    expect(await person.kubectl('get configmaps -n default')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('latchkey login'),
    });
  });
});

describe('a shell that is opened with the kubeconfig of a login', async () => {
  const inside = await sharedVirtualCluster();
  await giveRight(inside.admin, alice, sessionRights);
  const kubelet = await startKubelet(guard, inside.plane);
  const pod = await makePod(inside.admin, kubelet);
  type Person = ReturnType<typeof newPerson>;

  it.each<[string, string, (person: Person) => ReturnType<Person['latchkey']>]>([
    ['logs out', '', async (person) => await person.latchkey('logout')],
    [
      'loses a key that its finder revokes',
      ' --child-ttl 1h',
      async (person) => await newPerson('honest').latchkey(`revoke ${place}`, { input: person.sessionKey() }),
    ],
  ])('runs, and is cut within a second when the person %s', async (what, flag, end) => {
    const round = async () => await cutAfter(newPerson(uniqueName(what.replaceAll(' ', '-'))), flag, end);
    expect(await leastMs(1_000, round, 3)).toBeLessThan(1_000);
  });

  /** How many milliseconds after the end of their credential the shell of this person is cut. */
  async function cutAfter(
    person: Person,
    flag: string,
    end: (person: Person) => ReturnType<Person['latchkey']>,
  ) {
    const login = person.start(`login --device ${place}`);
    const { page, code } = await shownCode(login);
    await browse(page, provider.ca, { ...ofAlice, code });
    expect(await login.code, login.said()).toBe(0);
    await untilReached(gateway, person.sessionKey(), paths['virtual cluster']);
    await person.latchkey(`kubeconfig ${virtualCluster} --merge${flag}`);
    const name = uniqueName('shell');
    const endless = `: ${name}; while echo running; do sleep 0.05; done`;
    const shell = person.startKubectl(['exec', pod, '--', 'sh', '-c', endless]);
    await until('it runs', async () => shell.said().includes('running'), { seen: shell.said });
    const cut = shell.code.then((exitCode) => ({ exitCode, at: performance.now() }));
    expect(await end(person)).toMatchObject({ code: 0 });
    const told = performance.now();
    const { exitCode, at } = await cut;
    expect(exitCode).toBe(1);
    expect(shell.said()).toMatch(/close 1008 \(policy violation\): the (?:parent of the )?credential/);
    await until('its command has ended', async () =>
      (await kubelet.ended()).some((command) => command.includes(`${name};`)),
    );
    return at - told;
  }
});

describe('a login with a browser', () => {
  it('comes back to the command, which has no terminal', async () => {
    const person = newPerson('with-a-browser');
    const login = person.start(`login ${place}`);
    const last = await browse(await person.openedPage(), provider.ca, { ...ofAlice });
    expect(last).toMatchObject({ status: 200, text: expect.stringContaining('go on in the terminal') });
    expect(await login.code, login.said()).toBe(0);
    expect(login.said()).toMatch(/^Log in at https:\S+\nNo browser here\? .*\nYou are .*\n$/);
    expect((await person.latchkey('whoami -o name')).stdout).toBe(`${alice}\n`);
    const leaked = person.sessionKey();
    const revoked = await newPerson('finder').latchkey(`revoke ${place}`, { input: leaked });
    expect(revoked).toMatchObject({ code: 0, stderr: expect.stringContaining('refuses the key') });
    expect((await person.latchkey('whoami')).code).toBe(3);
  });
});

describe('a code', () => {
  it('that is typed wrongly, refused, or typed too late logs no one in', async () => {
    const [wrong, denied, late] = ['wrong', 'denied', 'late'].map(newPerson) as [
      ...[ReturnType<typeof newPerson>, ReturnType<typeof newPerson>, ReturnType<typeof newPerson>],
    ];
    const mistyped = wrong.start(`login --device ${place}`);
    const refused = denied.start(`login --device ${place}`);
    const slow = late.start(`login --device --client-id latchkey-brief ${place}`);
    const { page, code } = await shownCode(mistyped);
    const answer = await browse(page, provider.ca, { ...ofAlice, code: 'AAAA-AAAA' });
    expect(answer.text).toContain('incorrect');
    const other = await shownCode(refused);
    await browse(other.page, provider.ca, { ...ofAlice, code: other.code, refuses: true });
    expect([await refused.code, refused.said()]).toEqual([
      4,
      expect.stringContaining('the login was refused at the provider'),
    ]);
    expect([await slow.code, slow.said()]).toEqual([
      1,
      expect.stringContaining('no one typed the code in time'),
    ]);
    // The first one still waits.
    await browse(page, provider.ca, { ...ofAlice, code });
    expect(await mistyped.code, mistyped.said()).toBe(0);
    expect((await wrong.latchkey('logout')).code).toBe(0);
  });
});

describe('a pipeline', () => {
  const pipeline = personAt('pipeline');
  let count = 0;
  const token = async () =>
    await ci.sign({ aud: baseURL, sub: 'job', jti: uniqueName(`run-${++count}`), project_id: '20' });
  let trust = '';
  const exchange = async (LATCHKEY_ID_TOKEN: string) =>
    await pipeline.latchkey(`exchange --trust ${trust} ${place}`, { env: { LATCHKEY_ID_TOKEN } });

  it('exchanges its token for a key, once', async () => {
    const account = uniqueName('runner');
    await plane.kubectl(['create', 'serviceaccount', account, '-n', 'default']);
    const tokens = [{ issuer: ci.issuer, claims: { project_id: '20' } }];
    const serviceAccounts = [{ namespace: 'default', name: account }];
    const spec = { user: ciShop, exchange: { maxTTL: 900, tokens, serviceAccounts } };
    trust = (await admin.untilReady(await admin.createKey(spec))).metadata.name;
    let last = '';
    const { stdout } = await until('the gateway takes tokens for it', async () => {
      last = await token();
      const exchanged = await exchange(last);
      return exchanged.code === 0 ? exchanged : undefined;
    });
    const env = { LATCHKEY_ACCESS_KEY: stdout.trim() };
    expect((await pipeline.latchkey(`whoami -o name ${place}`, { env })).stdout).toBe(`${ciShop}\n`);
    expect(await exchange(last)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('was exchanged before'),
    });
    const ofAccount = await plane.kubectl([
      'create',
      'token',
      account,
      '-n',
      'default',
      `--audience=${baseURL}`,
    ]);
    const file = path.join(pipeline.home, 'token');
    writeFileSync(file, ofAccount.stdout, { mode: 0o600 });
    const workload = await pipeline.latchkey(`exchange --trust ${trust} -o json ${place}`, {
      env: { LATCHKEY_ID_TOKEN_FILE: file },
    });
    expect(JSON.parse(workload.stdout)).toEqual({
      key: expect.stringMatching(/^lk_/),
      expirationTimestamp: expect.any(String),
    });
  });

  it('makes one exchange for eight kubectl at once when its key ends soon', async () => {
    await pipeline.latchkey(`kubeconfig platform --file ${pipeline.kubeconfig} --trust ${trust} ${place}`);
    const version = async (LATCHKEY_ID_TOKEN: string) =>
      await pipeline.kubectl('get --raw /version', { env: { LATCHKEY_ID_TOKEN } });
    expect(await version(await token())).toMatchObject({ code: 0 });
    const before = await childrenOf(trust);
    pipeline.ageCache();
    const next = await token();
    const all = await Promise.all(Array.from({ length: 8 }, async () => await version(next)));
    expect(all.map(({ code, stderr }) => `${code} ${stderr}`)).toEqual(Array(8).fill('0 '));
    expect(await childrenOf(trust)).toBe(before + 1);
  });
});

it('no argument of a program and no open file shows a key or a token', () => {
  expect(seen.lines.some((line) => line.includes('login --device'))).toBe(true);
  expect(seen.lines.filter((line) => /lk_[0-9A-Za-z]{12}|eyJ[\w-]{12}/.test(line))).toEqual([]);
  for (const name of ['with-a-browser', 'pipeline']) {
    const files = personAt(name).ownFiles();
    expect(files.length).toBeGreaterThan(0);
    expect(files.filter(({ mode }) => mode !== 0o600)).toEqual([]);
  }
});

it('while the provider is away, no one logs in, and the failure names it', async () => {
  process.kill(provider.pid, 'SIGKILL');
  const host = new URL(provider.issuer).host;
  const person = newPerson('too-late');
  await until('the provider is gone', async () => {
    const { code, stderr } = await person.latchkey(`login --device ${place}`);
    return code === 6 && stderr.includes(`nothing listens at ${host}`);
  });
});
