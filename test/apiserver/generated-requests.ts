/** Numbers that are the same in every run, so that a difference can be found again. */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

type Pick = <T>(choices: readonly T[]) => T;

const methods = ['GET', 'GET', 'GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const oddMethods = ['get', 'CONNECT', 'TRACE', 'LIST', 'Delete'];
const prefixes = [
  '/kubernetes/management',
  '/kubernetes/cluster/eu',
  '/kubernetes/project/demo/space/shop',
  '/kubernetes/project/demo/virtualcluster/shop',
];
const roots = [
  '/api/v1',
  '/api/v1',
  '/api/v2',
  '/apis/apps/v1',
  '/apis/rbac.authorization.k8s.io/v1',
  '/apis/management.platform.sh/v1',
  '/apis/metrics.k8s.io/v1beta1',
  '/apis',
  '/api',
  '/apis/apps',
  '/API/v1',
  '/apix/v1',
  '/version',
  '/openapi/v3/apis/apps/v1',
  '/healthz',
  '/logs',
  '',
];
const lists = [
  '/api/v1/pods',
  '/api/v1/namespaces',
  '/api/v1/namespaces/default/secrets',
  '/api/v1/watch/pods',
  '/apis/apps/v1/namespaces/default/deployments/',
];
const words = [
  'namespaces',
  'namespaces',
  'watch',
  'proxy',
  'pods',
  'secrets',
  'services',
  'nodes',
  'deployments',
  'status',
  'finalize',
  'log',
  'exec',
  'scale',
  'token',
  'default',
  'web',
  'api',
  'apis',
  'v1',
  'Namespaces',
  'WATCH',
  'system:node',
  'https:web:443',
  'a.b',
  'a~b',
  'a+b',
  '*',
  'x'.repeat(300),
];
const oddWords = [
  '',
  '.',
  '..',
  '...',
  '%2e',
  '%2E%2e',
  '%2f',
  '%5C',
  '%00',
  '%7f',
  '%61',
  'nam%65spaces',
  'system%3Anode',
  'a%20b',
  'a%25b',
  '%252f',
  '%zz',
  '%',
  'a%3Fb',
  'a%23b',
  '%c3%a4',
  '%ff',
  '%e2%80%ae',
  'a;b=c',
  'a,b',
  'a=b',
  '@',
  '[a]',
  '{a}',
  '"a"',
  'a|b',
  '\\',
  '#',
  '\u00e4',
  ' ',
  '%2d',
  '%7E',
  '%4',
];
const names = [
  'watch',
  'fieldSelector',
  'labelSelector',
  'limit',
  'timeoutSeconds',
  'continue',
  'pretty',
  '',
];
const oddNames = ['Watch', '%77atch', 'wa+tch', 'field%53elector', 'watch%', '%zz', 'watch;'];
const flags = [
  'true',
  '1',
  '0',
  'false',
  'FALSE',
  'False',
  '',
  'no',
  'true;',
  '%66alse',
  '%',
  'fal%c5%bfe',
  '+',
];
const numbers = [
  '1',
  '500',
  '-1',
  '%2B5',
  '+5',
  '',
  'x',
  '9223372036854775807',
  '9223372036854775808',
  '-9223372036854775808',
  '-9223372036854775809',
  '1_000',
  '0x10',
  '1e3',
  '00012',
  '0000000000000000000000000000000000000005',
  '-0000000000000000000000000000000000000005',
  '99999999999999999999999999999999999999',
];
const fields = [
  'metadata.name=web',
  'metadata.name==web',
  'metadata.name=web,metadata.name=web',
  'metadata.name=web,metadata.name=api',
  'metadata.name==web,metadata.name=zeta',
  'metadata.name%3Dweb',
  'metadata.name!=web',
  'metadata.name=',
  'metadata.name=.',
  'metadata.name=..',
  'metadata.name=a%2Fb',
  'metadata.name=a%25b',
  'metadata.name=a\\,b',
  'metadata.name=a%5C%2Cb',
  'metadata.name=a%5Cb',
  'metadata.name=a%5C',
  'metadata.name=a=b',
  'metadata.name=%ff',
  'metadata.name=a%20b',
  'metadata.name=a+b',
  'metadata.name=%00',
  'Metadata.Name=web',
  'metadata.name+=web',
  '+metadata.name=web',
  'metadata.namespace=default',
  'status.phase=Running',
  'status.phase',
  'status.phase!==x',
  'a=%5C%5C',
  '=b',
  '!=',
  '',
];
const labels = [
  'app=web',
  'app==web',
  'app!=web',
  'app',
  '!app',
  '!+app',
  'app=',
  'app+in+(a,b)',
  'app+in(a)',
  'appin+(a)',
  'app+notin+(,)',
  'app+in+()',
  'app+in+(a,,b,)',
  'app+in+(a+b)',
  'app+in+(a',
  'app+in+a)',
  'app+in+in',
  'in+in+(in,notin)',
  'in',
  'notin=in',
  'app>5',
  'app<05',
  'app>x',
  'app>',
  'app>99999999999999999999',
  'app%3E5',
  'app<-5',
  'example.com/app=web',
  'Example.com/app=web',
  '/app=web',
  'a/b/c=web',
  'app=web!',
  'app=-web',
  'app=we_b.x-y',
  `app=${'x'.repeat(63)}`,
  `app=${'x'.repeat(64)}`,
  `${'x'.repeat(64)}=a`,
  `${'x.'.repeat(130)}y/app=a`,
  'app=a,',
  ',app=a',
  'app=a,,b=c',
  'app=a,b=c',
  'app=a,+!b',
  '!app=b',
  'app===b',
  'app=!b',
  'app=(b)',
  'app%0Ain%09(a)',
  '++app++=++web++',
  'app=%ff',
  'app=%00',
  '%C3%A4=b',
  '()',
  '(',
  '',
];

export interface GeneratedRequest {
  readonly method: string;
  readonly target: string;
}

/** Requests as clients, careless people and attackers write them; the same `seed` gives the same requests. */
export function* generateRequests(seed: number, count: number): Generator<GeneratedRequest> {
  const random = randomNumbers(seed);
  const pick: Pick = (choices) => choices[Math.floor(random() * choices.length)] as never;
  for (let index = 0; index < count; index++) {
    const isList = random() < 0.3;
    const method = random() < 0.01 ? pick(oddMethods) : isList ? 'GET' : pick(methods);
    const sent = isList ? listOf(pick, random) : pathOf(pick, random) + queryOf(pick, random);
    yield { method, target: pick(prefixes) + (random() < 0.1 ? mutate(sent, random) : sent) };
  }
}

/** A selector on a name, among other parameters that make it valid or not. */
function listOf(pick: Pick, random: () => number): string {
  const parameters = ['fieldSelector', 'labelSelector', 'watch', 'limit', 'timeoutSeconds'];
  const chosen = parameters.filter((name) => name === 'fieldSelector' || random() < 0.3);
  const pairs = chosen.map((name) => `${name}=${parameterValue(name, pick, random)}`);
  return `${pick(lists)}?${random() < 0.5 ? pairs.join('&') : pairs.reverse().join('&')}`;
}

function pathOf(pick: Pick, random: () => number): string {
  const segments = Array.from({ length: Math.floor(random() * 8) }, () =>
    pick(random() < 0.03 ? oddWords : words),
  );
  const path = [pick(roots), ...segments].join('/');
  return random() < 0.1 ? `${path}/` : path;
}

function queryOf(pick: Pick, random: () => number): string {
  if (random() < 0.4) return '';
  const pairs = Array.from({ length: Math.floor(random() * 5) }, () => {
    const name = pick(random() < 0.1 ? oddNames : names);
    return random() < 0.05 ? name : `${name}=${parameterValue(name, pick, random)}`;
  });
  return `?${pairs.join(random() < 0.02 ? ';' : '&')}`;
}

function parameterValue(name: string, pick: Pick, random: () => number): string {
  if (name === 'fieldSelector') {
    return Array.from({ length: 1 + Math.floor(random() * 2) }, () => pick(fields)).join(',');
  }
  if (name === 'labelSelector') return pick(labels);
  return pick(name === 'limit' || name === 'timeoutSeconds' ? numbers : flags);
}

const bytes = '/%.?#&=;+\\* ~:@,!()\t\u007f\u00e9abcWATCHnamespace0123456789';

/** One byte put in, taken out or changed, a few times. */
function mutate(text: string, random: () => number): string {
  let mutated = text;
  for (let times = 1 + Math.floor(random() * 3); times > 0; times--) {
    const at = Math.floor(random() * (mutated.length + 1));
    const byte = bytes[Math.floor(random() * bytes.length)] ?? '';
    const change = Math.floor(random() * 3);
    mutated = mutated.slice(0, at) + (change === 0 ? '' : byte) + mutated.slice(change === 1 ? at : at + 1);
  }
  return mutated;
}
