import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { specDigest } from '../../../src/api/policy-spec.ts';
import { policyDigests } from '../../../src/cli/generated/policy-digests.ts';
import { shippedPolicies } from '../../../src/operator/admission/generated/shipped-policies.ts';
import { version } from '../../../src/version.ts';
import { baseURL, Person, statusOf, toAnswer } from '../../builders/command-line.ts';

let person: Person;
beforeEach(() => {
  person = new Person();
});
afterEach(() => person.end());

interface Cluster {
  readonly version?: object;
  /** Resources that are not served. */
  readonly unserved?: readonly string[];
  readonly withoutPolicy?: string;
  readonly edited?: string;
  /** Verbs that no account has. */
  readonly lacking?: string;
  readonly mayReview?: boolean;
}

const kinds = [
  'ownedaccesskeys',
  'directclusterendpointtokens',
  'virtualclusterinstancekubeconfigs',
  'virtualclusterinstances',
  'spaceinstances',
  'clusters',
  'credentiallocks',
];
const policyKinds = {
  mutatingadmissionpolicies: 'MutatingAdmissionPolicy',
  mutatingadmissionpolicybindings: 'MutatingAdmissionPolicyBinding',
  validatingadmissionpolicies: 'ValidatingAdmissionPolicy',
  validatingadmissionpolicybindings: 'ValidatingAdmissionPolicyBinding',
};

/** As the API server fills it in. */
const withDefaults = (spec: object): object => ({
  ...spec,
  ...('matchConstraints' in spec
    ? {
        matchConstraints: {
          matchPolicy: 'Equivalent',
          namespaceSelector: {},
          objectSelector: {},
          ...(spec.matchConstraints as object),
        },
      }
    : {}),
});

/** A kubectl that knows one cluster. */
function kubectlOf({
  version: served = { major: '1', minor: '36', gitVersion: 'v1.36.3' },
  unserved = [],
  ...site
}: Cluster) {
  const served_ = (names: readonly string[]) => ({
    resources: names.filter((name) => !unserved.includes(name)).map((name) => ({ name })),
  });
  const policies = (plural: string) => ({
    items: shippedPolicies
      .filter(
        ({ kind, name }) =>
          kind === policyKinds[plural as keyof typeof policyKinds] && name !== site.withoutPolicy,
      )
      .map(({ name, spec }) => ({
        metadata: { name },
        spec: name === site.edited ? { ...spec, failurePolicy: 'Ignored' } : withDefaults(spec),
      })),
  });
  const reviews = (input: string) => ({
    items: JSON.parse(input).items.map((item: { spec: { resourceAttributes: { verb: string } } }) => ({
      ...item,
      status: { allowed: item.spec.resourceAttributes.verb !== site.lacking },
    })),
  });
  const answer = (args: readonly string[], input: string): unknown => {
    const line = args.join(' ');
    if (line.includes('--raw /version')) return served;
    if (line.includes('/apis/admissionregistration')) return served_(Object.keys(policyKinds));
    if (line.includes('/apis/management')) return served_(kinds);
    if (args[0] === 'create') return site.mayReview === false ? undefined : reviews(input);
    return policies(args[1]?.split('.')[0] ?? '');
  };
  return async (_: string, args: readonly string[], input = '') => {
    const found = answer(args, input);
    // kubectl prints what it creates one after the other.
    const all = args[0] === 'create' ? ((found as { items?: unknown[] } | undefined)?.items ?? []) : [found];
    const stdout = all.map((each) => `${JSON.stringify(each, null, 4)}\n`).join('');
    return { code: found === undefined ? 1 : 0, stdout, stderr: '' };
  };
}

const check = async (cluster: Cluster) =>
  await person.run('check --cluster-only', { run: kubectlOf(cluster) });

describe('latchkey check', () => {
  it('is content with a whole installation', async () => {
    const { code, stdout } = await check({});
    expect([code, stdout.match(/^ok /gm)?.length, stdout.match(/^(?:FAILED|unknown)/gm)]).toEqual([
      0,
      8,
      null,
    ]);
  });

  it.each<[string, Cluster, string, string]>([
    [
      'an older API server',
      { version: { major: '1', minor: '35', gitVersion: 'v1.35.9' } },
      'v1.35.9 works as 1.35',
      'Upgrade the control plane to 1.36',
    ],
    [
      'an API server that works as an older one',
      {
        version: {
          major: '1',
          minor: '36',
          gitVersion: 'v1.36.3',
          emulationMajor: '1',
          emulationMinor: '35',
        },
      },
      'works as 1.35',
      'Upgrade',
    ],
    [
      'a missing kind of policies',
      { unserved: ['mutatingadmissionpolicies'] },
      'does not serve mutatingadmissionpolicies',
      '--feature-gates',
    ],
    [
      'missing kinds',
      { unserved: ['clusters', 'spaceinstances'] },
      'spaceinstances, clusters are missing',
      'kubectl apply -k config/default',
    ],
    [
      'a missing policy',
      { withoutPolicy: 'latchkey-delegation' },
      'ValidatingAdmissionPolicy/latchkey-delegation is missing',
      'helm upgrade',
    ],
    [
      'an edited policy',
      { edited: 'latchkey-status' },
      'ValidatingAdmissionPolicy/latchkey-status differs',
      'Apply this release',
    ],
    [
      'an account without a right',
      { lacking: 'watch' },
      'rights of latchkey-reader: it may not watch ownedaccesskeys',
      'Apply this release',
    ],
  ])('names %s and the way out', async (_, cluster, problem, fix) => {
    const { code, stdout } = await check(cluster);
    expect([code, stdout]).toEqual([1, expect.stringContaining(problem)]);
    expect(stdout).toContain(fix);
  });

  it('does not pass for content where it could not ask', async () => {
    const { code, stdout } = await check({ mayReview: false });
    expect([code, stdout]).toEqual([1, expect.stringContaining('who may create subjectaccessreviews')]);
  });

  it('says it of the gateway, too', async () => {
    const answers = { 'GET /version': { version } };
    const line = `check --gateway-only --base-url ${baseURL}`;
    expect((await person.run(line, { answers })).code).toBe(0);
    const old = await person.run(line, { answers: { 'GET /version': { version: '0.0.1' } } });
    expect([old.code, old.stdout]).toEqual([1, expect.stringContaining('the gateway is 0.0.1')]);
    const none = await person.run(line, { answers: { 'GET /version': statusOf(404, 'no') } });
    expect([none.code, none.stdout]).toEqual([1, expect.stringContaining('is no Latchkey gateway')]);
  });

  it('notices a clock that is off', async () => {
    const date = new Date(Date.now() - 180_000).toUTCString();
    const send = async () => ({ ...toAnswer(200, { version }), headers: { date } });
    const { code, stdout } = await person.run(`check --gateway-only --base-url ${baseURL}`, { send });
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(/this machine is 1[78]\d s ahead of the gateway/),
    ]);
  });
});

describe('the digest of a policy', () => {
  it('is kept for every shipped policy and binding', () => {
    const digests = Object.fromEntries(
      shippedPolicies.map(({ kind, name, spec }) => [`${kind}/${name}`, specDigest(spec)]),
    );
    expect(policyDigests).toEqual(digests);
  });

  it.each<[string, object, boolean]>([
    [
      'defaults of the API server',
      { failurePolicy: 'Fail', matchConstraints: { matchPolicy: 'Equivalent', namespaceSelector: {} } },
      true,
    ],
    ['a field that Kubernetes may add', { failurePolicy: 'Fail', matchConstraints: {}, novelty: 1 }, true],
    ['another failure policy', { failurePolicy: 'Ignore', matchConstraints: {} }, false],
    [
      'a selector',
      { failurePolicy: 'Fail', matchConstraints: { namespaceSelector: { matchLabels: { novelty: 'a' } } } },
      false,
    ],
    ['an exception', { failurePolicy: 'Fail', matchConstraints: { excludeResourceRules: [{}] } }, false],
  ])('with %s', (_, spec, isSame) => {
    expect(specDigest(spec) === specDigest({ failurePolicy: 'Fail', matchConstraints: {} })).toBe(isSame);
  });
});
