import { readFileSync } from 'node:fs';
import { Agent, type Dispatcher } from 'undici';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { concurrently } from '../../../lab/operator/concurrently.ts';
import { bindRole } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import type { WebhookWorld } from './webhook-world.ts';

/** The same rows that judge the code: see the head of the file. */
interface Vectors {
  readonly about: string;
  readonly scope?: object;
  readonly ancestors?: readonly object[];
  readonly rows: readonly string[];
}

const vectors: readonly Vectors[] = parse(readFileSync('test/fixtures/scope-vectors.yaml', 'utf8'));
/** `pass`: the rights of the user decide, and this one has all. `unreadable`: it could be read in two ways. */
type Outcome = 'pass' | 'refuse' | 'unreadable';
const enforcers = ['gateway', 'endpoint', 'webhook'] as const;
type Enforcer = (typeof enforcers)[number];

/** Rows for which an enforcer answers otherwise than the others, and why it may. */
const differences: readonly {
  readonly about: string;
  readonly enforcer: Enforcer;
  readonly outcome: Outcome;
  readonly rows: RegExp;
}[] = [
  {
    about: 'The API server reads each request in its own one way, and judges what it has read.',
    enforcer: 'webhook',
    outcome: 'pass',
    rows: /^(?!allow|Target|Request|Unnamed|NoResource)/,
  },
  {
    about:
      'Where such a request makes an object, the API server asks for `create` as well, once it has read the body.',
    enforcer: 'webhook',
    outcome: 'pass',
    rows: /^Request (?:APPLY|PUT .*\/(?:services|leases|leasecandidates)\/)/,
  },
];

/** Clients send none of these. */
const isSendable = (row: string): boolean => !/^Method /.test(row) && !/ \S*[\\#]/.test(row);
const ofCluster = (row: string): boolean => row.split(' ')[2]?.startsWith('/cluster/eu/') === true;
/** Scopes that no credential has: the kinds refuse some, and fields that they do not know are not stored. */
const impossible = {
  refused: [
    'a star is no namespace',
    'a star is no verb, and a list without text is not an empty one',
    'a star within a step or before the end matches nothing',
    'an empty name is no name',
    'entries and lists that cannot be read allow nothing',
    'names without resources match nothing',
    'other stars and unknown forms match nothing',
    'stars and whole groups name nothing',
    'targets that do not exist',
    'the cluster of a rule is a name',
  ],
  pruned: [
    'an unknown list makes the whole scope allow nothing',
    'an unknown field could be one that narrows, so the rule matches nothing',
  ],
};
const groups = vectors
  .filter(({ about }) => !impossible.pruned.includes(about))
  .map((group) => ({ ...group, rows: group.rows.filter((row) => ofCluster(row) && isSendable(row)) }))
  .filter(({ rows }) => rows.length > 0);

interface Credentials {
  readonly key: string;
  readonly token: string;
}
const notKnown = 'ERR_WEBHOOK_CREDENTIAL';

/** One scope of the vectors after the other, as credentials that the three enforcers know. */
class Enforced {
  readonly #asking: WebhookWorld;
  readonly #agents: ReadonlyMap<string, Agent>;
  readonly credentials = new Map<string, Credentials>();
  /** The titles of the groups whose scope the kinds refuse. */
  readonly notMade: string[] = [];

  constructor(asking: WebhookWorld) {
    this.#asking = asking;
    const { endpoint, direct } = asking;
    const { world, inside } = direct;
    const { plane } = inside;
    const trusting = {
      [world.gateway.url]: world.gateway.ca,
      [endpoint.url]: endpoint.ca,
      [plane.server]: Buffer.from(plane.caData, 'base64').toString(),
    };
    this.#agents = new Map(
      Object.entries(trusting).map(([url, ca]) => [url, new Agent({ allowH2: false, connect: { ca } })]),
    );
  }

  async makeAll(): Promise<void> {
    const { direct } = this.#asking;
    const user = await direct.user();
    await bindRole(direct.inside.admin, user, 'cluster-admin');
    const { cluster, world } = direct;
    const above = await world.holder({ user, scope: { clusters: [{ cluster }] } });
    await concurrently(groups, async (group) => {
      try {
        await this.#make(group, above.object.metadata.name);
      } catch (error) {
        // The kinds refuse what no scope can be.
        if (!/is invalid|422|must/.test(String(error))) throw error;
        this.notMade.push(group.about);
      }
    });
    const ask = async ({ token }: Credentials) =>
      await this.#send(direct.inside.plane.server, token, 'GET', '/version');
    const whole = this.credentials.get('a cluster by its name') ?? { key: '', token: '' };
    await until('the API server takes tokens', async () => (await ask(whole)).status === 200);
    for (const each of this.credentials.values())
      await until('the webhook knows the token', async () => !(await ask(each)).text.includes(notKnown));
  }

  /** `above`: a key for this cluster, so that an API server of it may take the token. */
  async #make({ about, scope, ancestors = [] }: Vectors, above: string): Promise<void> {
    const { world, cluster } = this.#asking.direct;
    // The cluster of the rows is called `eu`.
    const named = (of: object): object =>
      JSON.parse(JSON.stringify(of).replaceAll('"cluster":"eu"', `"cluster":"${cluster}"`));
    let accessKey = above;
    for (const ancestor of [...ancestors].reverse().map(named))
      accessKey = (await world.holder({ accessKey, scope: ancestor })).object.metadata.name;
    const spec = { accessKey, ...(scope === undefined ? {} : { scope: named(scope) }) };
    const { key } = await world.holder(spec);
    const token = await world.admin.untilReady(await world.admin.createToken(spec));
    this.credentials.set(about, { key, token: String(token.status.token) });
  }

  async outcome(enforcer: Enforcer, row: string, { key, token }: Credentials): Promise<string> {
    const { direct, endpoint } = this.#asking;
    const [, method = '', path = ''] = row.split(' ');
    const through = `/kubernetes${path.replace('/eu/', `/${direct.cluster}/`)}`;
    if (enforcer === 'gateway') return await this.#ask(direct.world.gateway.url, key, method, through);
    if (enforcer === 'endpoint') return await this.#ask(endpoint.url, token, method, through);
    return await this.#ask(direct.inside.plane.server, token, method, path.replace('/cluster/eu', ''));
  }

  async #ask(base: string, bearer: string, method: string, path: string): Promise<string> {
    // Nothing goes: the rows are judged one after the other in one cluster.
    const dry = method === 'DELETE' && !path.includes('?') ? '?dryRun=All' : '';
    const { status, text } = await this.#send(base, bearer, method, path + dry);
    if (status === 500) return outcomeOfError(text);
    if (isUnjudged(status, text)) return `error: ${status} ${text}`;
    if (status === 400 && text.includes('ERR_REQUEST_MALFORMED')) return 'unreadable';
    return status === 401 || status === 403 ? outcomeOfRefusal(status, text) : 'pass';
  }

  async #send(base: string, bearer: string, method: string, path: string) {
    const isApply = method === 'APPLY';
    const dispatcher = this.#agents.get(base) as Agent;
    const body = /^(?:POST|PUT|PATCH|APPLY)$/.test(method) ? { body: '{}' } : {};
    const type = isApply ? 'application/apply-patch+yaml' : 'application/merge-patch+json';
    // As it stands: the parser of a URL would take out the dots.
    const answer = await dispatcher.request({
      ...{ origin: base, path, method: (isApply ? 'PATCH' : method) as Dispatcher.HttpMethod, ...body },
      headers: {
        authorization: `Bearer ${bearer}`,
        'content-type': /^(?:PATCH|APPLY)$/.test(method) ? type : 'application/json',
      },
    });
    const isStream = answer.statusCode === 200;
    const text = isStream ? '' : await answer.body.text();
    if (isStream) answer.body.on('error', () => undefined).destroy();
    return { status: answer.statusCode, text };
  }
}

/**
 * Under load, or without the target, no one has looked at the scope. An object that is not there is found missing by the API server, whose
 * Status has no code of ours.
 */
const isUnjudged = (status: number, text: string): boolean =>
  [429, 502, 503, 504].includes(status) || (status === 404 && text.includes('ERR_'));

function outcomeOfRefusal(status: 401 | 403, text: string): string {
  if (text.includes(notKnown)) return `error: ${text}`;
  // A refusal by RBAC or by an admission plugin has passed the scope. That of a HEAD says nothing.
  return status === 401 || text === '' || text.includes('ERR_SCOPE') ? 'refuse' : 'pass';
}

/** The API server answers with such a page in place of a Status where it cannot read a request, and without an answer of the webhook. */
function outcomeOfError(text: string): string {
  if (text.includes('failed to create RequestInfo')) return 'unreadable';
  return text.startsWith('Internal Server Error') ? `error: ${text}` : 'pass';
}

const expectedOf = (row: string): Outcome => {
  if (row.startsWith('allow')) return 'pass';
  return /^(?:Target|Request|Unnamed) /.test(row) ? 'refuse' : 'unreadable';
};

/**
 * Tests of the vectors at each enforcer that a credential meets, with real requests. The world is that of the file which calls it, for its
 * start takes as long as the tests.
 */
export function describeEnforcers(asking: WebhookWorld): void {
  const enforced = new Enforced(asking);
  const { credentials, notMade } = enforced;
  beforeAll(async () => await enforced.makeAll(), 300_000);

  describe.each(enforcers)('the %s', (enforcer) => {
    it.each(groups)('answers by the vectors: $about', async ({ about, rows }) => {
      const made = credentials.get(about);
      if (made === undefined) return expect(notMade).toContain(about);
      const answers = await concurrently(
        rows,
        async (row) => `${await enforced.outcome(enforcer, row, made)} ${row}`,
      );
      expect(answers).toEqual(
        rows.map((row) => {
          const other = differences.find((each) => each.enforcer === enforcer && each.rows.test(row));
          return `${other?.outcome ?? expectedOf(row)} ${row}`;
        }),
      );
    });
  });

  it('only scopes that the kinds refuse are left out', () => {
    expect(notMade.toSorted()).toEqual(impossible.refused);
  });

  it('every difference has rows', () => {
    const rows = groups.flatMap((group) => group.rows);
    expect(rows.length).toBeGreaterThan(350);
    for (const { about, rows: pattern } of differences)
      expect([about, rows.some((row) => pattern.test(row))]).toEqual([about, true]);
  });
}
