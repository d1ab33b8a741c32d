import { afterAll, describe, expect, it } from 'vitest';
import {
  aKey,
  baseURL,
  type CommandLineOptions,
  Person,
  selfOf,
  statusOf,
  toAnswer,
} from '../../test/builders/command-line.ts';
import { explainNetworkError } from './gateway/network-errors.ts';

const person = new Person();
afterAll(() => person.end());

const env = { LATCHKEY_BASE_URL: baseURL, LATCHKEY_ACCESS_KEY: aKey };
const noKey = { LATCHKEY_BASE_URL: baseURL };
const files = {
  open: person.write('open.key', aKey, 0o644),
  half: person.write('half.key', aKey.slice(0, 30)),
  hash: person.write('hash.key', `sha256:${'0'.repeat(64)}`),
  quoted: person.write('quoted.key', `"${aKey}"`),
  base64: person.write('base64.key', Buffer.from(aKey).toString('base64')),
  json: person.write('json.key', `{"spec":{"key":"${aKey}"}}`),
  two: person.write('two.key', `${aKey}\n${aKey}`),
  empty: person.write('empty.key', '\n'),
  noPEM: person.write('ca.crt', 'no certificate'),
  list: person.write('list.yaml', 'clusters: none\n'),
  broken: person.write('broken.yaml', 'a: [\n'),
};
const fails = (code: string) => async () => {
  throw explainNetworkError(Object.assign(new Error('x'), { code }), new URL(baseURL));
};
const answers = (status: number, message: string) => ({ 'POST /selves': statusOf(status, message) });
const html: CommandLineOptions['send'] = async () => ({
  ...{ status: 404, headers: { 'content-type': 'text/html' }, text: '<h1>nginx</h1>' },
});
const self = { 'POST /selves': selfOf() };
const twoShops = {
  ...self,
  'GET /virtualclusterinstances': {
    items: ['a', 'b'].map((p) => ({ metadata: { name: 'shop', namespace: `p-${p}` } })),
  },
  'GET /spaceinstances': { items: [] },
  'GET /clusters': { items: [] },
};

/** The line, what is around it, the exit code, what is wrong, and what to do. */
type Row = readonly [line: string, options: CommandLineOptions, code: number, problem: string, fix: string];

const typing: readonly Row[] = [
  ['kyes list', {}, 2, 'there is no command "kyes"', 'Did you mean `latchkey keys`?'],
  ['get keys', {}, 2, 'there is no command "get"', 'Did you mean `latchkey keys list`?'],
  ['operator', {}, 2, 'there is no command "operator"', 'the program of the container image'],
  ['frobnicate', {}, 2, 'there is no command "frobnicate"', 'Run `latchkey --help`'],
  ['keys', {}, 2, 'keys needs to know what to do', 'list|create|rotate|disable|delete'],
  ['keys lst', {}, 2, 'there is no command "keys lst"', 'Write `latchkey keys list`'],
  ['keys --ttl 1h', {}, 2, 'keys needs to know what to do', 'list|create'],
  ['--base-url https://a.b whoami', {}, 2, 'options come after the command', 'latchkey COMMAND --base-url'],
  ['whoami --outptu json', { env }, 2, 'whoami has no option --outptu', 'Did you mean `--output`?'],
  ['whoami --colour', { env }, 2, 'whoami has no option --colour', 'latchkey whoami --help'],
  ['whoami -x', { env }, 2, 'whoami has no option -x', 'latchkey whoami --help'],
  ['whoami -o xml', { env }, 2, 'there is no output form "xml"', '-o json'],
  ['whoami -o', { env }, 2, '-o needs a value', 'a variable may not be set'],
  ['whoami --key-file=', { env }, 2, '--key-file needs a value', 'a variable may not be set'],
  ['keys create --ttl --no-end', { env }, 2, '--ttl needs a value', '--ttl TIME'],
  ['kubeconfig platform --merge=yes', { env }, 2, '--merge takes no value', 'Write `--merge` alone'],
  ['whoami -o json -o yaml', { env }, 2, '-o is given twice', 'Give it once'],
  ['whoami now', { env }, 2, 'whoami takes no arguments, and "now" is one more', 'latchkey whoami [options]'],
  ['keys create my key --ttl 1h', { env }, 2, 'takes at most 1, and "key" is one more', 'in quotes'],
  ['keys delete', { env }, 2, 'keys delete needs the argument NAME', 'latchkey keys delete NAME…'],
  ['kubeconfig', { env }, 2, 'kubeconfig needs the argument TARGET', 'latchkey kubeconfig TARGET'],
  ['keys delete ""', { env }, 2, 'an argument of keys delete is empty', 'A variable may not be set'],
  ['completion tcsh', {}, 2, 'there is no completion for "tcsh"', 'bash, zsh or fish'],
  ['help kyes', {}, 2, 'there is no command "kyes"', 'latchkey keys'],
];

const keysAndPlaces: readonly Row[] = [
  [`whoami ${aKey}`, { env }, 2, 'a key stands on the command line', 'on standard input or in a file'],
  [`revoke ${aKey}`, { env }, 2, 'a key stands on the command line', 'Replace that key'],
  [`whoami --key-file=${aKey}`, { env }, 2, 'a key stands on the command line', 'Replace that key'],
  ['whoami', {}, 2, 'no gateway is named', '--base-url https://'],
  ['whoami', { env: noKey }, 3, `there is no key for ${baseURL}`, 'latchkey login'],
  [
    'whoami --base-url http://latchkey.example.com',
    { env },
    2,
    'does not begin with https://',
    'over TLS alone',
  ],
  ['whoami --base-url ://x', { env }, 2, '"://x" is no URL', '--base-url https://'],
  [
    'whoami --base-url https://me:pw@latchkey.example.com',
    { env },
    2,
    'holds a user name or password',
    'before the @',
  ],
  [
    'whoami --base-url https://latchkey.example.com?a=b',
    { env },
    2,
    'the base URL has a query',
    'from the ? on',
  ],
  [
    'whoami --certificate-authority none.crt',
    { env },
    2,
    'the authority none.crt cannot be read',
    'PEM file',
  ],
  [
    `whoami --certificate-authority ${files.noPEM}`,
    { env },
    2,
    'holds no certificate in PEM',
    'BEGIN CERTIFICATE',
  ],
  ['whoami --key-file none.key', { env: noKey }, 2, 'there is no file none.key', 'holds the key'],
  [
    `whoami --key-file ${files.open}`,
    { env: noKey },
    2,
    'others on this machine may read it',
    `chmod 600 ${files.open}`,
  ],
  [`whoami --key-file ${files.half}`, { env: noKey }, 2, 'it is not whole', 'Copy the whole key again'],
  [`whoami --key-file ${files.hash}`, { env: noKey }, 2, 'this is its hash', 'Make or rotate a key'],
  [
    `whoami --key-file ${files.quoted}`,
    { env: noKey },
    2,
    'there are quotes around it',
    'Take the quotes away',
  ],
  [`whoami --key-file ${files.base64}`, { env: noKey }, 2, 'it is still in base64', 'base64 -d'],
  [`whoami --key-file ${files.json}`, { env: noKey }, 2, 'this is JSON', 'jq -r .spec.key'],
  [
    `whoami --key-file ${files.two}`,
    { env: noKey },
    2,
    'there are spaces or lines in it',
    'Give the key alone',
  ],
  [`whoami --key-file ${files.empty}`, { env: noKey }, 2, 'it is empty', 'A variable may not be set'],
  ['revoke', { env: noKey }, 2, 'no key came on standard input', 'latchkey revoke < key-file'],
  [
    'revoke',
    { env: noKey, stdin: '' },
    2,
    'standard input holds no key: it is empty',
    'before the pipe failed',
  ],
  [
    'login --with-key --device',
    { env: noKey, stdin: aKey },
    2,
    '--with-key and --device exclude each other',
    'one of them',
  ],
  ['login', { env: noKey }, 2, 'has no provider to log in at', 'latchkey login --with-key'],
  [
    'login --issuer http://idp.example.com --client-id a',
    { env: noKey },
    2,
    'does not begin with https://',
    'Ask who runs it',
  ],
];

const values: readonly Row[] = [
  ['keys create ci', { env }, 2, 'it is not said how long the key lives', '--ttl 24h'],
  ['keys create ci --ttl 24', { env }, 2, '"24" is no length of time', '90s, 15m, 24h or 30d'],
  ['keys create ci --ttl "1 h"', { env }, 2, '"1 h" is no length of time', '15m'],
  ['keys create ci --ttl 5s', { env }, 2, '5s is too short', 'Write 1m or more'],
  ['keys create ci --ttl 1h --no-end', { env }, 2, '--ttl and --no-end exclude each other', 'one of them'],
  ['keys create CI --ttl 1h', { env }, 2, '"CI" cannot be the name of an object', 'small letters'],
  ['keys create ci --ttl 1h --space web', { env }, 2, '--space web names no project', '--space demo/shop'],
  ['kubeconfig pod/a', { env }, 2, '"pod/a" is no target', 'virtualcluster/PROJECT/NAME'],
  ['kubeconfig space/demo', { env }, 2, '"space/demo" is no target', 'space/PROJECT/NAME'],
  ['kubeconfig cluster/A', { env }, 2, '"cluster/A" is no target', 'cluster/NAME'],
  ['kubeconfig none', { env, answers: { ...twoShops } }, 2, 'no target is named none', 'latchkey targets'],
  [
    'kubeconfig shop',
    { env, answers: twoShops },
    2,
    '2 targets are named shop',
    'virtualcluster/a/shop, virtualcluster/b/shop',
  ],
  [
    'kubeconfig platform --merge --file a',
    { env },
    2,
    '--merge and --file exclude each other',
    'one of them',
  ],
  [`kubeconfig platform --file ${files.list}`, { env }, 2, 'is no list', 'Correct it'],
  [`kubeconfig platform --file ${files.broken}`, { env }, 2, 'is no kubeconfig that can be read', '--file'],
  ['explain ci gets pods', { env }, 2, 'there is no verb "gets"', 'get, list'],
  ['explain ci get Pods', { env }, 2, '"Pods" is no resource', 'Write its plural'],
  [
    'explain none get pods',
    { env, answers: self },
    5,
    'there is no /ownedaccesskeys/none',
    'latchkey keys list',
  ],
  [
    'who-can platform',
    { env },
    2,
    'RBAC of the platform itself says who may do what there',
    'Name a cluster',
  ],
  ['check --cluster-only', {}, 2, 'there is no kubectl in your PATH', '--gateway-only'],
  ['check --cluster-only --gateway-only', {}, 2, 'exclude each other', 'one of them'],
  ['exchange', { env: noKey }, 2, 'which access key trusts this token', '--trust KEY'],
  ['exchange --trust ci', { env: noKey }, 2, 'there is no token to exchange', 'LATCHKEY_ID_TOKEN'],
  [
    'exchange --trust ci',
    { env: { ...noKey, LATCHKEY_ID_TOKEN: 'abc' } },
    2,
    'LATCHKEY_ID_TOKEN holds no token',
    'a JWT',
  ],
  [
    'exchange --trust ci',
    { env: { ...noKey, GITHUB_ACTIONS: 'true' } },
    2,
    'may not ask GitHub for a token',
    'id-token: write',
  ],
  [
    'exchange --trust ci',
    { env: { ...noKey, GITLAB_CI: 'true' } },
    2,
    'has no LATCHKEY_ID_TOKEN',
    'id_tokens',
  ],
  [
    'credential --trust ci --child-ttl 15m',
    { env: noKey },
    2,
    '--child-ttl and --trust exclude each other',
    'spec.exchange',
  ],
];

const network: readonly Row[] = [
  [
    'whoami',
    { env, send: fails('ENOTFOUND') },
    6,
    'no address is known for latchkey.example.com',
    'Check the host',
  ],
  [
    'whoami',
    { env, send: fails('ECONNREFUSED') },
    6,
    'nothing listens at latchkey.example.com',
    'host and port',
  ],
  ['whoami', { env, send: fails('ETIMEDOUT') }, 6, 'latchkey.example.com does not answer', 'HTTPS_PROXY'],
  ['whoami', { env, send: fails('EPROTO') }, 6, 'does not speak TLS', 'plain HTTP'],
  [
    'whoami',
    { env, send: fails('SELF_SIGNED_CERT_IN_CHAIN') },
    6,
    'an authority that is not trusted here',
    '--certificate-authority',
  ],
  [
    'whoami',
    { env, send: fails('ERR_TLS_CERT_ALTNAME_INVALID') },
    6,
    'is for other names',
    'that the certificate names',
  ],
  ['whoami', { env, send: fails('CERT_HAS_EXPIRED') }, 6, 'has expired', 'Check the clock'],
  ['whoami', { env, send: fails('EWHATEVER') }, 6, 'cannot be reached (EWHATEVER)', 'Try again'],
  [
    'whoami',
    { env, send: html },
    2,
    'is no Latchkey gateway (it answers 404, text/html)',
    'ends before `/kubernetes`',
  ],
  [
    'whoami',
    { env, send: async () => ({ status: 502, headers: {}, text: 'bad gateway' }) },
    6,
    'the gateway behind it is away',
    'in a moment',
  ],
  [
    'whoami',
    {
      env,
      send: async () => ({ status: 302, headers: { location: 'https://login.example.com/' }, text: '' }),
    },
    ...([2, 'a redirect to https://login.example.com/', 'A key is not sent on'] as const),
  ],
  [
    'whoami',
    {
      env,
      send: async () => ({
        ...toAnswer(401, statusOf(401, 'the access key has expired')),
        headers: { date: 'Mon, 01 Jan 2024 00:00:00 GMT' },
      }),
    },
    ...([3, 'the access key has expired', 'The clock of this machine is'] as const),
  ],
  [
    'whoami',
    { env, answers: answers(401, 'the access key is disabled') },
    3,
    'the access key is disabled',
    'latchkey login',
  ],
  ['whoami', { env, answers: answers(403, 'the scope says no') }, 4, 'the scope says no', 'a wider scope'],
  ['whoami', { env, answers: answers(429, 'too many requests') }, 6, 'too many requests', 'Wait a moment'],
  ['whoami', { env, answers: answers(503, 'not ready') }, 6, 'not ready', 'Try again in a moment'],
  [
    'keys create ci --ttl 1h',
    { env, answers: { 'POST /ownedaccesskeys': statusOf(409, 'ci exists') } },
    1,
    'ci exists',
    'Choose another name',
  ],
  [
    'keys create ci --ttl 1h',
    { env, answers: { 'POST /ownedaccesskeys': statusOf(422, 'spec.ttl is wrong') } },
    2,
    'spec.ttl is wrong',
    'Correct the field',
  ],
  ['keys rotate none', { env, answers: self }, 5, 'there is no /ownedaccesskeys/none', 'latchkey keys list'],
  ['keys delete none', { env, answers: self }, 5, 'there is no /ownedaccesskeys/none', 'latchkey targets'],
];

describe.each([
  ['of words', typing],
  ['of keys and places', keysAndPlaces],
  ['of values', values],
  ['that the gateway or the network refuses', network],
] as const)('a wrong call %s', (_, rows) => {
  it.each(rows)('latchkey %s, case %#', async (...[line, options, code, problem, fix]) => {
    const result = await person.run(line, options);
    const [first = '', second = '', ...more] = result.stderr.trimEnd().split('\n');
    expect([result.code, first, second, more]).toEqual([
      code,
      expect.stringContaining(problem),
      expect.stringContaining(fix),
      [],
    ]);
    expect(first).toMatch(/^latchkey: \S/);
    expect(result.stdout).toBe('');
    expect(result.stderr).not.toContain(aKey);
  });
});

it('the table of wrong calls has 60 rows and more', () => {
  expect(typing.length + keysAndPlaces.length + values.length + network.length).toBeGreaterThan(60);
});
