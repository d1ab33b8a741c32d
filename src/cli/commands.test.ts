import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import {
  aKey,
  baseURL,
  Person,
  selfOf,
  statusOf,
  toAnswer,
  wordsOf,
} from '../../test/builders/command-line.ts';
import { credentialHash } from '../credentials/keys/credential-hash.ts';
import { commands } from './commands/index.ts';
import { commandHelp, helpText } from './help.ts';
import { loginByDevice } from './login/device.ts';
import { exitCodes } from './shared/failure.ts';

let person: Person;
beforeEach(() => {
  person = new Person();
});
afterEach(() => person.end());

const env = { LATCHKEY_BASE_URL: baseURL, LATCHKEY_ACCESS_KEY: aKey };
const newKey = 'lk_yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp115EvKG';
const ready = [{ type: 'Ready', status: 'True', reason: 'Ready' }];
const keyObject = (name: string, spec: object = {}) => ({
  ...{ kind: 'OwnedAccessKey', metadata: { name }, spec: { user: 'alice', ...spec } },
  status: {
    conditions: ready,
    expirationTimestamp: new Date(Date.now() + 7_200_000).toISOString().replace(/\.\d+/, ''),
  },
});
const instance = {
  metadata: { name: 'shop', namespace: 'p-demo' },
  status: { conditions: ready },
};
const role = {
  metadata: { name: 'use' },
  rules: [{ verbs: ['use'], apiGroups: ['management.platform.sh'], resources: ['*'] }],
};
const binding = {
  metadata: { name: 'devs' },
  roleRef: { kind: 'ClusterRole', name: 'use' },
  subjects: [{ kind: 'Group', name: 'devs' }],
};

const rbac = '/kubernetes/management/apis/rbac.authorization.k8s.io/v1';
const sar = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
/** A gateway where everything goes well. */
const answers = {
  'POST /selves': selfOf({ scopes: [{ name: 'mine', scope: { projects: [{ project: 'demo' }] } }] }),
  'GET /version': { version: '0.1.0' },
  'GET /ownedaccesskeys?limit=500': {
    items: [keyObject('shop-ci', { scope: { clusters: [{ cluster: 'a' }] } })],
  },
  'POST /ownedaccesskeys': { metadata: { name: 'shop-ci' }, spec: { key: newKey } },
  'GET /ownedaccesskeys/shop-ci': keyObject('shop-ci', {
    accessKey: 'above',
    scope: { projects: [{ project: 'demo' }] },
  }),
  'GET /ownedaccesskeys/above': keyObject('above', { scope: { projects: [{ project: 'demo' }] } }),
  'PATCH /ownedaccesskeys/shop-ci': keyObject('shop-ci'),
  'PATCH /ownedaccesskeys/shop-nightly': keyObject('shop-nightly'),
  'DELETE /ownedaccesskeys/shop-ci': { kind: 'Status', status: 'Success' },
  'DELETE /ownedaccesskeys/shop-nightly': { kind: 'Status', status: 'Success' },
  'GET /virtualclusterinstances': { items: [instance] },
  'GET /spaceinstances': { items: [] },
  'GET /clusters': { items: [{ metadata: { name: 'staging' }, status: {} }] },
  [`GET ${rbac}/clusterroles`]: { items: [role] },
  [`GET ${rbac}/clusterrolebindings`]: { items: [binding] },
  [`GET ${rbac}/namespaces/p-demo/roles`]: { items: [] },
  [`GET ${rbac}/namespaces/p-demo/rolebindings`]: { items: [] },
  [`POST /kubernetes/cluster/staging${sar}`]: { status: { allowed: true } },
  'POST /oauth/token': { access_token: newKey, expires_in: 900 },
};

describe('the help', () => {
  it('of the program lists every command and exit code', () => {
    for (const { name, summary } of commands) expect(helpText()).toContain(`${name.padEnd(12)}  ${summary}`);
    for (const { code } of Object.values(exitCodes)) expect(helpText()).toMatch(new RegExp(`\\b${code} \\w`));
  });

  it.each(commands)('of $name fits on one screen, and has two examples', async ({ name, examples }) => {
    const { code, stdout } = await person.run(`${name} --help`);
    expect(code).toBe(0);
    const lines = stdout.trimEnd().split('\n');
    expect(lines.length).toBeLessThanOrEqual(45);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
    for (const { command } of examples) expect(lines).toContain(`  ${command}`);
  });

  it('is the same by help, --help and -h', async () => {
    const texts = ['help keys list', 'keys list --help', 'keys list -h'].map(
      async (line) => (await person.run(line)).stdout,
    );
    expect(new Set(await Promise.all(texts)).size).toBe(1);
    expect((await texts[0]) ?? '').toBe(
      commandHelp(commands.find(({ name }) => name === 'keys list') as never),
    );
  });
});

/** The part of an example that is ours; the rest is the shell's. */
function ownPart(command: string): { readonly words: readonly string[]; readonly hasInput: boolean } {
  const line = command.slice(command.indexOf('latchkey ') + 'latchkey '.length).replace(/\s*[|>)].*$/, '');
  const [own = '', input] = line.split(' < ');
  return { words: wordsOf(own), hasInput: input !== undefined };
}

const examples = commands.flatMap(({ name, examples: both }) =>
  both.map(({ command }) => ({ name, command })),
);
/** Of a cluster that has locks, and fails everything else. */
const kubectl = async (_: string, args: readonly string[]) => ({
  code: args.some((arg) => arg.startsWith('credentiallock')) || args.includes('create') ? 0 : 1,
  stdout: JSON.stringify({
    ...{ items: [], metadata: { creationTimestamp: '2026-11-26T18:00:00Z' } },
    status: { stops: 'user ada', stoppedCredentials: 3 },
  }),
  stderr: '',
});

it.each(examples)('the example runs: $command', async ({ command }) => {
  const { words, hasInput } = ownPart(command);
  const file = person.write('ci.key', aKey);
  const placed = words.map((word) =>
    word === 'ci.key' ? file : /^[\w-]+\.key$/.test(word) ? path.join(person.home, word) : word,
  );
  const isDevice = words.includes('--device');
  const idToken = { LATCHKEY_ID_TOKEN: 'a.b.c' };
  const isLast = words[0] === 'revoke' && hasInput;
  let asked = 0;
  const { code, stderr } = await person.run(placed, {
    env: { ...env, ...idToken },
    run: kubectl,
    ...(hasInput ? { stdin: aKey } : {}),
    answers: {
      ...answers,
      'POST /selves': () => (isLast && asked++ > 0 ? statusOf(401, 'unknown') : answers['POST /selves']),
      'DELETE /ownedaccesskeys/mine': { kind: 'Status', status: 'Success' },
      ...(isDevice ? device : {}),
    },
  });
  const mayFail = words[0] === 'check';
  expect([stderr, mayFail ? 0 : code]).toEqual([expect.not.stringContaining('latchkey:'), 0]);
});

/** A provider that lets everyone in. */
const device = {
  'GET /.well-known/oauth-protected-resource': {
    resource: baseURL,
    authorization_servers: [`${baseURL}/idp`],
    latchkey_client_id: 'cli',
  },
  'GET /idp/.well-known/openid-configuration': {
    ...{ issuer: `${baseURL}/idp`, token_endpoint: `${baseURL}/idp/token` },
    device_authorization_endpoint: `${baseURL}/idp/device`,
  },
  'POST /idp/device': {
    device_code: 'd',
    user_code: 'AB-CD',
    verification_uri: `${baseURL}/idp/code`,
    interval: 0,
  },
  'POST /idp/token': { id_token: 'a.b.c' },
};

describe('a key', () => {
  it('that is made goes to standard output alone, or to a file for its owner alone', async () => {
    expect((await person.run('keys create shop-ci --ttl 1h', { env, answers })).stdout).toBe(`${newKey}\n`);
    const file = path.join(person.home, 'new.key');
    const { stdout } = await person.run(`keys create --ttl 1h --write-key ${file}`, { env, answers });
    expect([stdout, readFileSync(file, 'utf8'), statSync(file).mode & 0o777]).toEqual([
      '',
      `${newKey}\n`,
      0o600,
    ]);
  });

  it('comes with the warnings of the gateway', async () => {
    const send = async () => ({
      ...toAnswer(201, answers['POST /ownedaccesskeys']),
      headers: { warning: '299 - "it has \\"no\\" scope", 299 - "nor, an end"' },
    });
    const { code, stderr } = await person.run('keys create --no-end', { env, send });
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/^Warning: it has "no" scope\nWarning: nor, an end\n/),
    ]);
  });

  it('is made with the scope that the options name', async () => {
    const line =
      'keys create --ttl 2d --project a --project b --virtual-cluster a/v --space a/s --cluster c --role platform-cli';
    await person.run(line, { env, answers });
    expect(JSON.parse(person.sent.at(-1)?.body ?? '').spec).toEqual({
      ttl: 172_800,
      scope: {
        projects: [{ project: 'a' }, { project: 'b' }],
        virtualClusters: [{ project: 'a', virtualCluster: 'v' }],
        spaces: [{ project: 'a', space: 's' }],
        clusters: [{ cluster: 'c' }],
        roles: [{ role: 'platform-cli' }],
      },
    });
  });

  it('that is rotated is made here: only its hash leaves the machine', async () => {
    const { stdout } = await person.run('keys rotate shop-ci', { env, answers });
    const patch = person.sent.find(({ method }) => method === 'PATCH');
    expect(JSON.parse(patch?.body ?? '')).toEqual({
      spec: { key: `sha256:${credentialHash(stdout.trim())}` },
    });
    expect(stdout).toMatch(/^lk_\w{49}\n$/);
  });

  it('in a Secret is rotated by the operator', async () => {
    const kept = keyObject('shop-ci', { secretRef: { namespace: 'ci', name: 'shop' } });
    const both = { 'GET /ownedaccesskeys/shop-ci': kept, 'PATCH /ownedaccesskeys/shop-ci': kept };
    const { stdout, stderr } = await person.run('keys rotate shop-ci', {
      env,
      answers: { ...answers, ...both },
    });
    expect([stdout, stderr]).toEqual(['', 'The new key of shop-ci goes to the Secret shop in ci.\n']);
    expect(person.sent.at(-1)?.body).toContain('management.platform.sh/rotate');
  });
});

describe('a login with a key', () => {
  const login = async () =>
    await person.run(`login --with-key --base-url ${baseURL}`, { stdin: `${aKey}\n`, answers });

  it('keeps it for the owner alone, and other commands use it', async () => {
    expect((await login()).stderr).toContain(`You are alice at ${baseURL}`);
    const file = path.join(person.home, '.config/latchkey/sessions.json');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect((await person.run('whoami -o name', { answers })).stdout).toBe('alice\n');
    expect(person.sent.at(-1)?.headers['authorization']).toBe(`Bearer ${aKey}`);
  });

  it('keeps no key that the gateway does not accept', async () => {
    const refused = { 'POST /selves': statusOf(401, 'no such key') };
    const { code } = await person.run(`login --with-key --base-url ${baseURL}`, {
      stdin: aKey,
      answers: refused,
    });
    expect([code, existsSync(path.join(person.home, '.config/latchkey/sessions.json'))]).toEqual([3, false]);
  });

  it('ends with the logout, which leaves a key that it did not make', async () => {
    await login();
    expect((await person.run('logout', { answers })).stderr).toContain('still works elsewhere');
    expect(person.sent.some(({ method }) => method === 'DELETE')).toBe(false);
    expect((await person.run('whoami', { answers })).code).toBe(2);
  });
});

describe('a login at the provider', () => {
  const line = `login --device --base-url ${baseURL}`;

  it('shows page and code, keeps the key, and deletes it at the logout', async () => {
    const { code, stderr } = await person.run(line, { answers: { ...answers, ...device } });
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining(`Open ${baseURL}/idp/code and type the code AB-CD\n`),
    ]);
    const exchange = new URLSearchParams(person.sent.find(({ url }) => url.endsWith('/oauth/token'))?.body);
    expect(Object.fromEntries(exchange)).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: 'a.b.c',
      subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
    });
    const { stderr: out } = await person.run('logout', {
      answers: { ...answers, 'DELETE /ownedaccesskeys/mine': { kind: 'Status' } },
    });
    expect(out).toContain('and the key is deleted');
  });

  it('waits while the code is not typed, and longer when the provider asks for it', async () => {
    const replies = [
      { error: 'authorization_pending' },
      { error: 'slow_down' },
      { error: 'authorization_pending' },
    ];
    const pauses: number[] = [];
    const issuer = `${baseURL}/idp`;
    const provider = {
      issuer,
      clientID: 'cli',
      tokenEndpoint: `${issuer}/token`,
      deviceEndpoint: `${issuer}/device`,
      scope: 'openid',
      namesItself: true,
    };
    const token = await loginByDevice(
      provider,
      {
        send: async ({ url }) =>
          url.endsWith('/device')
            ? toAnswer(200, { ...device['POST /idp/device'], interval: 2 })
            : toAnswer(replies.length > 0 ? 400 : 200, replies.shift() ?? { id_token: 'a.b.c' }),
        signal: new AbortController().signal,
        stderr: { isTTY: false, write: () => undefined },
        now: Date.now,
      },
      async (ms) => pauses.push(ms),
    );
    expect([token, pauses]).toEqual(['a.b.c', [2_000, 2_000, 7_000, 7_000]]);
  });

  it('ends with Ctrl-C, as shells know it, and keeps nothing', async () => {
    const controller = new AbortController();
    const typing = { ...device, 'POST /idp/device': { ...device['POST /idp/device'], interval: 600 } };
    const running = person.run(line, { answers: { ...answers, ...typing }, signal: controller.signal });
    setImmediate(() => controller.abort());
    expect(await running).toMatchObject({
      code: 130,
      stderr: expect.stringContaining('latchkey: stopped\n'),
    });
    expect(existsSync(path.join(person.home, '.config'))).toBe(false);
  });

  it('says that it was refused', async () => {
    const denied = { 'POST /idp/token': { error: 'access_denied' } };
    const { code, stderr } = await person.run(line, { answers: { ...answers, ...device, ...denied } });
    expect([code, stderr]).toEqual([4, expect.stringContaining('the login was refused at the provider')]);
  });

  it('takes no provider that calls itself otherwise', async () => {
    const other = {
      'GET /idp/.well-known/openid-configuration': {
        issuer: 'https://evil.example.com',
        token_endpoint: 'https://evil.example.com/t',
      },
    };
    const { code, stderr } = await person.run(line, { answers: { ...answers, ...device, ...other } });
    expect([code, stderr]).toEqual([2, expect.stringContaining('calls itself "https://evil.example.com"')]);
  });

  it('asks for the scope groups where the provider has one', async () => {
    const configuration = 'GET /idp/.well-known/openid-configuration';
    const asked: (string | null)[] = [];
    for (const scopes of [['openid', 'groups'], ['openid', 'email'], 'groups']) {
      const has = { [configuration]: { ...device[configuration], scopes_supported: scopes } };
      await person.run(line, { answers: { ...answers, ...device, ...has } });
      const sent = person.sent.findLast(({ url }) => url === `${baseURL}/idp/device`);
      asked.push(new URLSearchParams(sent?.body).get('scope'));
    }
    expect(asked).toEqual(['openid profile email groups', 'openid profile email', 'openid profile email']);
  });

  const metadata = 'GET /.well-known/oauth-protected-resource';
  const two = {
    [metadata]: {
      resource: baseURL,
      authorization_servers: ['https://other.example.com', `${baseURL}/idp`],
      latchkey_client_ids: { 'https://other.example.com': 'theirs', [`${baseURL}/idp`]: 'ours' },
    },
  };
  const withTwo = { ...answers, ...device, ...two };

  it('asks which of two providers is meant, and is the right client at each', async () => {
    const { code, stderr } = await person.run(line, { answers: withTwo });
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining(`several providers to log in at: https://other.example.com, ${baseURL}/idp`),
    ]);
    expect((await person.run(`${line} --issuer ${baseURL}/idp`, { answers: withTwo })).code).toBe(0);
    const asked = person.sent.find(({ url }) => url === `${baseURL}/idp/device`);
    expect(new URLSearchParams(asked?.body).get('client_id')).toBe('ours');
  });

  it('is no client of a provider that the gateway does not name', async () => {
    const chosen = `${line} --issuer https://idp.example.com`;
    for (const named of [withTwo, { ...answers, ...device }])
      expect(await person.run(chosen, { answers: named })).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('no provider to log in at by the name https://idp.example.com'),
      });
  });

  it('goes to no gateway that calls itself otherwise', async () => {
    const other = { [metadata]: { ...two[metadata], resource: 'https://elsewhere.example.com' } };
    const { code, stderr } = await person.run(line, { answers: { ...withTwo, ...other } });
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('calls itself "https://elsewhere.example.com"'),
    ]);
  });
});

describe('a kubeconfig', () => {
  const exec = (text: string) => parse(text).users[0].user.exec;

  it('holds no key and names the command bare, so that an allow list can name it', async () => {
    const { stdout } = await person.run('kubeconfig virtualcluster/demo/shop --child-ttl 15m', { env });
    expect(exec(stdout)).toMatchObject({
      apiVersion: 'client.authentication.k8s.io/v1',
      command: 'latchkey',
      args: ['credential', '--base-url', baseURL, '--child-ttl', '15m'],
      interactiveMode: 'IfAvailable',
      provideClusterInfo: true,
    });
    expect(parse(stdout).clusters[0].cluster).toEqual({
      server: `${baseURL}/kubernetes/project/demo/virtualcluster/shop`,
    });
    expect(stdout).not.toContain(aKey);
  });

  it('is merged with what stands in the file, comments too, and becomes current', async () => {
    const before =
      '# mine\nclusters:\n- name: other # keep\n  cluster: {}\ncontexts: []\nusers:\ncurrent-context: other\n';
    const file = person.write('config', before);
    for (const _ of [1, 2]) await person.run(`kubeconfig cluster/staging --file ${file}`, { env });
    const text = readFileSync(file, 'utf8');
    expect(text).toMatch(/^# mine\n[\s\S]*other # keep/);
    const { clusters, users, contexts, 'current-context': current } = parse(text);
    expect([clusters.length, users.length, contexts.length]).toEqual([2, 1, 1]);
    expect(current).toBe('cluster-staging@latchkey.example.com');
  });

  it('goes to the kubeconfig in use by --merge', async () => {
    const file = path.join(person.home, 'one');
    await person.run('kubeconfig platform --merge', { env: { ...env, KUBECONFIG: `${file}:${file}2` } });
    expect(parse(readFileSync(file, 'utf8'))['current-context']).toBe('platform@latchkey.example.com');
    await person.run('kubeconfig platform --merge', { env });
    expect(existsSync(path.join(person.home, '.kube/config'))).toBe(true);
  });
});

describe('explain', () => {
  it('names the key of the chain whose scope says no', async () => {
    const line = 'explain shop-ci list pods --target cluster/staging -n web';
    const { code, stdout } = await person.run(line, { env, answers });
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(
        /^no\nshop-ci: no, cannot list "pods" .*the scope of OwnedAccessKey "shop-ci" has no entry for the cluster "staging"/,
      ),
    ]);
  });

  it('says what a parent that is not yours may still narrow', async () => {
    const hidden = { 'GET /ownedaccesskeys/above': statusOf(404, 'no') };
    const line = 'explain shop-ci list pods --target virtualcluster/demo/shop -n a';
    const { code, stdout } = await person.run(line, { env, answers: { ...answers, ...hidden } });
    expect([code, stdout]).toEqual([
      0,
      'yes\nshop-ci: yes\nabove: yes, as far as you may see: it is not yours\n',
    ]);
  });

  it('says that a disabled key is refused altogether', async () => {
    const off = {
      ...keyObject('shop-ci'),
      status: { conditions: [{ type: 'Ready', status: 'False', reason: 'Disabled' }] },
    };
    const { code, stdout } = await person.run('explain shop-ci get pods', {
      env,
      answers: { ...answers, 'GET /ownedaccesskeys/shop-ci': off },
    });
    expect([code, stdout]).toEqual([1, 'no\nshop-ci: no, the gateway refuses this key: Disabled\n']);
  });

  it('lets the gateway answer for a key on standard input, with that key and no other', async () => {
    const no = {
      [`POST /kubernetes/management${sar}`]: { status: { allowed: false, reason: 'the scope lacks it' } },
    };
    const { code, stdout } = await person.run('explain - get pods', {
      env: { LATCHKEY_BASE_URL: baseURL },
      stdin: aKey,
      answers: no,
    });
    expect([code, stdout]).toEqual([1, 'no\nthe key: no, the scope lacks it\n']);
  });
});

describe('outputs', () => {
  it.each(['json', 'yaml'] as const)('in %s are what the gateway sent', async (form) => {
    const { stdout } = await person.run(`keys list -o ${form}`, { env, answers });
    const { items } = answers['GET /ownedaccesskeys?limit=500'];
    expect(parse(stdout)).toMatchObject({ kind: 'OwnedAccessKeyList', items });
  });

  it('of targets name the command that opens each', async () => {
    const { stdout } = await person.run('targets', { env, answers });
    expect(stdout).toMatch(
      /^virtualcluster\/demo\/shop +yes +latchkey kubeconfig virtualcluster\/demo\/shop --merge$/m,
    );
    expect((await person.run('targets -o name', { env, answers })).stdout).toBe(
      'virtualcluster/demo/shop\ncluster/staging\n',
    );
  });

  it('show nothing that could move the cursor of a terminal', async () => {
    const evil = { 'GET /ownedaccesskeys?limit=500': { items: [keyObject('a\u001b[2Jb')] } };
    expect((await person.run('keys list', { env, answers: { ...answers, ...evil } })).stdout).toContain(
      'a?[2Jb',
    );
  });

  it.each([
    ['keys list -o json', '\\u009b2J'],
    ['keys list -o yaml', '\\u009b2J'],
    ['revoke', 'Delete that object: `kubectl delete ?2j?'],
    ['login --with-key', 'You are ?2J? at'],
  ])('let no text of a server do so in %s', async (line, expected) => {
    const csi = '\u009b2J\u202e';
    const status = { subject: csi, credential: { kind: csi, name: 'a' } };
    const evil = {
      'GET /ownedaccesskeys?limit=500': { items: [{ ...keyObject('a'), spec: { displayName: csi } }] },
      'POST /selves': selfOf(status),
    };
    const { stdout, stderr } = await person.run(line, { env, answers: evil, stdin: aKey });
    expect(stdout + stderr).toContain(expected);
    expect(stdout + stderr).not.toMatch(/[\u009b\u202e]/);
    if (line.endsWith('json')) expect(JSON.parse(stdout).items[0].spec.displayName).toBe(csi);
    if (line.endsWith('yaml')) expect(parse(stdout).items[0].spec.displayName).toBe(csi);
  });

  it.each([
    ['at a terminal', true, {}, '\u001b[31mlatchkey:'],
    ['with NO_COLOR', true, { NO_COLOR: '1' }, 'latchkey:'],
    ['in a pipe', false, {}, 'latchkey:'],
  ])('colour errors %s as they should', async (_, isTTY, more, expected) => {
    expect((await person.run('nope', { isTTY, env: more })).stderr.startsWith(expected)).toBe(true);
  });

  it('read every page of a long list', async () => {
    const pages = {
      'GET /ownedaccesskeys?limit=500': { items: [keyObject('a')], metadata: { continue: 'x' } },
      'GET /ownedaccesskeys?limit=500&continue=x': { items: [keyObject('b')] },
    };
    expect((await person.run('keys list -o name', { env, answers: pages })).stdout).toBe(
      'ownedaccesskey/a\nownedaccesskey/b\n',
    );
  });
});

/** A clock that goes a second at each look. */
const hurried = () => {
  let now = Date.now();
  return () => {
    now += 1_000;
    return now;
  };
};

describe('revoke', () => {
  it('ends the key on standard input by itself, and looks whether it is refused', async () => {
    let isGone = false;
    const { code, stderr } = await person.run('revoke', {
      env: { LATCHKEY_BASE_URL: baseURL },
      stdin: aKey,
      answers: {
        'POST /selves': () => (isGone ? statusOf(401, 'unknown') : selfOf()),
        'DELETE /ownedaccesskeys/mine': () => {
          isGone = true;
          return { kind: 'Status' };
        },
      },
    });
    expect([code, stderr]).toEqual([0, expect.stringContaining('the gateway refuses the key')]);
    expect(person.sent.map(({ headers }) => headers['authorization'])).toEqual(
      Array(3).fill(`Bearer ${aKey}`),
    );
  });

  it('is content with a key that is refused already', async () => {
    const answer = { 'POST /selves': statusOf(401, 'unknown') };
    const { code } = await person.run('revoke', {
      env: { LATCHKEY_BASE_URL: baseURL },
      stdin: aKey,
      answers: answer,
    });
    expect(code).toBe(0);
  });

  it('does not say that it is done while the gateway accepts the key', async () => {
    const lasting = { 'POST /selves': selfOf(), 'DELETE /ownedaccesskeys/mine': { kind: 'Status' } };
    const { code } = await person.run('revoke', {
      env: { LATCHKEY_BASE_URL: baseURL },
      stdin: aKey,
      now: hurried(),
      answers: lasting,
    });
    expect(code).toBe(1);
  });
});

it.each(['bash', 'zsh', 'fish'])('the completion for %s names every command and option', async (shell) => {
  const { stdout } = await person.run(`completion ${shell}`);
  for (const { name, options } of commands) {
    expect(stdout).toContain(name.split(' ').at(-1));
    for (const option of Object.keys(options)) expect(stdout).toContain(option);
  }
});
