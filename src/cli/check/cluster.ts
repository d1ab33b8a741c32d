import { asObject, asText, isObject, type JsonObject } from '../../api/json.ts';
import { apiVersion, labels } from '../../api/names.ts';
import { specDigest } from '../../api/policy-spec.ts';
import { policyDigests, policyVersion } from '../generated/policy-digests.ts';
import { type AccountRight, accountRights } from './account-rights.ts';
import { type Finding, failed, type Kubectl, ok, unknown } from './check.ts';

const minimum = [1, 36] as const;

/** Questions to the API server of the platform, in the order in which it is put right. */
export async function checkCluster(kubectl: Kubectl): Promise<readonly Finding[]> {
  const version = await checkVersion(kubectl);
  if (version.state === 'unknown') return [version];
  const kinds = await checkKinds(kubectl);
  if (kinds.some(({ state }) => state !== 'ok')) return [version, ...kinds];
  return [version, ...kinds, await checkPolicies(kubectl), ...(await checkAccounts(kubectl))];
}

async function checkVersion(kubectl: Kubectl): Promise<Finding> {
  const subject = 'Kubernetes version';
  const found = asObject(await kubectl.json(['get', '--raw', '/version']));
  const served = asText(found['gitVersion']);
  if (served === undefined)
    return unknown(
      subject,
      'the API server does not answer',
      'Run `kubectl get --raw /version`, and mend what it says.',
    );
  const numbers = ['major', 'minor'].map((name) => {
    // An emulated version is the one that counts.
    const text =
      asText(found[`emulation${name === 'major' ? 'Major' : 'Minor'}`]) ?? asText(found[name]) ?? '';
    return Number.parseInt(text, 10);
  });
  const [major = 0, minor = 0] = numbers;
  if (major > minimum[0] || (major === minimum[0] && minor >= minimum[1])) return ok(subject, served);
  return failed(
    subject,
    `${served} works as ${major}.${minor}`,
    `Upgrade the control plane to ${minimum.join('.')} or newer.`,
  );
}

const policyKinds = {
  MutatingAdmissionPolicy: 'mutatingadmissionpolicies',
  MutatingAdmissionPolicyBinding: 'mutatingadmissionpolicybindings',
  ValidatingAdmissionPolicy: 'validatingadmissionpolicies',
  ValidatingAdmissionPolicyBinding: 'validatingadmissionpolicybindings',
} as const;

const ownKinds = [
  ...['ownedaccesskeys', 'directclusterendpointtokens', 'virtualclusterinstancekubeconfigs'],
  ...['virtualclusterinstances', 'spaceinstances', 'clusters', 'credentiallocks'],
];

const install = 'Apply this release: `kubectl apply -k config/default`, or `helm upgrade`.';

async function checkKinds(kubectl: Kubectl): Promise<readonly Finding[]> {
  const served = async (groupVersion: string) => {
    const { resources } = asObject(await kubectl.json(['get', '--raw', `/apis/${groupVersion}`]));
    return new Set((Array.isArray(resources) ? resources : []).map((each) => asObject(each)['name']));
  };
  const [admission, own] = await Promise.all([served('admissionregistration.k8s.io/v1'), served(apiVersion)]);
  const missing = (wanted: readonly string[], there: ReadonlySet<unknown>) =>
    wanted.filter((name) => !there.has(name));
  const noPolicies = missing(Object.values(policyKinds), admission);
  const noKinds = missing(ownKinds, own);
  return [
    noPolicies.length === 0
      ? ok('admission policies', 'the API server serves all four kinds')
      : failed(
          'admission policies',
          `the API server does not serve ${noPolicies.join(', ')}`,
          'Take `admissionregistration.k8s.io/v1` and its feature gates out of --runtime-config and --feature-gates.',
        ),
    noKinds.length === 0
      ? ok('kinds of Latchkey', `all ${ownKinds.length} are served`)
      : failed('kinds of Latchkey', `${noKinds.join(', ')} are missing`, install),
  ];
}

async function checkPolicies(kubectl: Kubectl): Promise<Finding> {
  const subject = 'policies of this release';
  const lists = await Promise.all(
    Object.entries(policyKinds).map(async ([kind, plural]) => {
      const list = await kubectl.json([
        'get',
        `${plural}.admissionregistration.k8s.io`,
        '-l',
        labels.policyVersion,
        '-o',
        'json',
      ]);
      const { items } = asObject(list);
      return Array.isArray(items) ? items.filter(isObject).map((item) => [kind, item] as const) : undefined;
    }),
  );
  if (lists.includes(undefined))
    return unknown(
      subject,
      'they cannot be read',
      'Run the check as somebody who may list admission policies.',
    );
  const live = new Map(
    lists.flatMap((list) => list ?? []).map(([kind, item]) => [`${kind}/${nameOf(item)}`, item]),
  );
  const problems = Object.entries(policyDigests).flatMap(([name, digest]) => {
    const item = live.get(name);
    if (item === undefined) return [`${name} is missing`];
    return specDigest(item['spec']) === digest ? [] : [`${name} differs`];
  });
  if (problems.length > 0) return failed(subject, problems.join(', '), install);
  return ok(subject, `all ${Object.keys(policyDigests).length} are as in version ${policyVersion} of them`);
}

const nameOf = (item: JsonObject): string => asText(asObject(item['metadata'])['name']) ?? '';

async function checkAccounts(kubectl: Kubectl): Promise<readonly Finding[]> {
  const reviews = accountRights.flatMap(({ user, rights }) => rights.map((right) => reviewFor(user, right)));
  const list = { apiVersion: 'v1', kind: 'List', items: reviews };
  const answers = await kubectl.objects(['create', '-f', '-', '-o', 'json'], JSON.stringify(list));
  const items = answers.filter(isObject);
  const isAllowed = (user: string, right: AccountRight) =>
    items.some((item) => {
      const { user: of, resourceAttributes } = asObject(item['spec']);
      const asked = asObject(resourceAttributes);
      const isIt =
        of === user && Object.entries(right).every(([name, value]) => (asked[name] ?? '') === value);
      return isIt && asObject(item['status'])['allowed'] === true;
    });
  return accountRights.map(({ user, rights }) => {
    const subject = `rights of ${user.split(':').at(-1)}`;
    if (items.length < reviews.length)
      return unknown(
        subject,
        'they cannot be asked for',
        'Run the check as somebody who may create subjectaccessreviews.',
      );
    const lacking = rights.filter((right) => !isAllowed(user, right));
    if (lacking.length === 0) return ok(subject, `${rights.length} of ${rights.length}`);
    return failed(
      subject,
      `it may not ${lacking.map(({ verb, resource }) => `${verb} ${resource}`).join(', ')}`,
      install,
    );
  });
}

const reviewFor = (user: string, right: AccountRight): JsonObject => ({
  apiVersion: 'authorization.k8s.io/v1',
  kind: 'SubjectAccessReview',
  spec: { user, groups: ['system:authenticated', 'system:serviceaccounts'], resourceAttributes: right },
});
