import { describe, expect, it } from 'vitest';
import {
  type CredentialObject,
  type CredentialParts,
  confirmed,
  created,
  credentialObject,
  recordOf,
} from '../../../test/builders/credential-object.ts';
import { toLiveRecord } from '../../credentials/live-record.ts';
import { Locks } from '../../platform/locks.ts';
import { toInstanceRecord } from '../../platform/targets/target-record.ts';
import { apiPrefix } from '../../scope/request-path.ts';
import { findDenial, resolve } from '../gate/authorise.ts';
import { CredentialRecords } from './credential-records.ts';
import { TargetRecords } from './target-records.ts';
import { Verdicts } from './verdicts.ts';

/** Verdicts, and what they rest on: empty. */
function judges() {
  const records = new CredentialRecords();
  const targets = new TargetRecords('p-');
  const verdicts = new Verdicts({
    records,
    targets,
    projectNamespacePrefix: 'p-',
    now: () => created,
    locks: new Locks(),
    activityInterval: 60_000,
    onDropped: () => undefined,
  });
  return { records, targets, verdicts };
}

/** Checks the last of these credentials as the gateway does: the code of its refusal, or `allowed`. Those before it are its keys. */
function judgeWith(...objects: readonly CredentialObject[]) {
  const { records, targets, verdicts } = judges();
  const label = { label: 'one', isDeleting: false, created: '' };
  targets.projects.upsert({ key: 'p-one', uid: 'p1', resourceVersion: '1', ...label });
  for (const name of ['shop', 'lab']) {
    const creationTimestamp = '2026-01-01T00:00:00Z';
    const metadata = { name, namespace: 'p-one', uid: `${name}-1`, resourceVersion: '1', creationTimestamp };
    targets.instances.upsert(
      toInstanceRecord({ apiVersion: 'v1', kind: 'VirtualClusterInstance', metadata }),
    );
  }
  const stored = objects.map((object) => toLiveRecord(object, object.kind));
  for (const record of stored) records.ofKind[record.kind].upsert(record);
  const verdict = verdicts.find(stored.at(-1)?.status.credentialHash ?? '');
  return (line: string) => {
    if (verdict === undefined || !('record' in verdict)) return verdict?.reason ?? 'Unknown';
    const [method = '', path = ''] = line.split(' ');
    const asked = resolve({ method, target: apiPrefix + path, contentType: 'application/json' });
    if ('status' in asked) return asked.code;
    return findDenial(verdict, asked, { namespace: 'team-space', isPlatform: true })?.code ?? 'allowed';
  };
}

const group = '/apis/management.platform.sh/v1';
const kubeConfig = (spec: object = {}, ancestors: readonly CredentialObject[] = []) =>
  confirmed(
    credentialObject({
      kind: 'VirtualClusterInstanceKubeConfig',
      spec: { virtualClusterInstance: 'shop', ...spec },
      status: { virtualClusterInstanceUID: 'shop-1' },
      metadata: { namespace: 'p-one' },
    }),
    ancestors.map(recordOf),
  );
const token = (spec: object) =>
  confirmed(credentialObject({ kind: 'DirectClusterEndpointToken', spec: { ...spec } }));
const parent = (scope?: object): CredentialObject => {
  const parts: CredentialParts = {
    name: 'root',
    spec: { user: 'alice', key: 'root-key-of-alice-for-tests', ...(scope && { scope }) },
  };
  return confirmed(credentialObject(parts));
};

describe('the token of a kubeconfig', () => {
  const mayDo = judgeWith(kubeConfig());

  it.each([
    'GET /project/one/virtualcluster/shop/api/v1/namespaces/default/pods',
    'DELETE /project/one/virtualcluster/shop/api/v1/namespaces/default/pods/a',
    `GET /management${group}/namespaces/p-one/virtualclusterinstances/shop`,
    'POST /management/apis/authentication.k8s.io/v1/selfsubjectreviews',
    'GET /management/version',
  ])('may %s', (line) => {
    expect(mayDo(line)).toBe('allowed');
  });

  it.each([
    'GET /project/one/virtualcluster/lab/api/v1/pods',
    'GET /project/one/virtualcluster/shop2/api/v1/pods',
    'GET /project/two/virtualcluster/shop/api/v1/pods',
    'GET /project/one/space/shop/api/v1/namespaces/team-space/pods',
    'GET /cluster/shop/api/v1/pods',
    'GET /cluster/shop/version',
    'GET /management/api/v1/namespaces',
    'GET /management/api/v1/namespaces/p-one/secrets',
    `GET /management${group}/namespaces/p-one/virtualclusterinstances`,
    `GET /management${group}/namespaces/p-one/virtualclusterinstances/lab`,
    `GET /management${group}/namespaces/p-two/virtualclusterinstances/shop`,
    `PATCH /management${group}/namespaces/p-one/virtualclusterinstances/shop`,
    `DELETE /management${group}/namespaces/p-one/virtualclusterinstances/shop`,
    `GET /management${group}/clusters`,
    'GET /management/metrics',
    'POST /project/one/virtualcluster/lab/apis/authentication.k8s.io/v1/selfsubjectreviews',
  ])('may not %s', (line) => {
    expect(mayDo(line)).toBe('ERR_SCOPE');
  });

  it('reads no credentials of its own virtual cluster either', () => {
    expect(mayDo(`GET /project/one/virtualcluster/shop${group}/ownedaccesskeys`)).toBe('ERR_SCOPE');
  });

  it.each([
    ['the name of another instance', { virtualClusterInstance: 'lab' }],
    ['an instance that is not there', { virtualClusterInstance: 'none' }],
    ['a star', { virtualClusterInstance: '*' }],
    ['a path', { virtualClusterInstance: '../p-two/shop' }],
    ['an empty name', { virtualClusterInstance: '' }],
  ])('with %s is good for nothing: the UID is that of its own', (_, spec) => {
    const line = 'GET /project/one/virtualcluster/lab/api/v1/pods';
    expect(judgeWith(kubeConfig(spec))(line)).toBe('InstanceGone');
  });

  it.each<[string, object | undefined, string]>([
    ['without a scope', undefined, 'allowed'],
    ['for its project', { projects: [{ project: 'one' }] }, 'allowed'],
    ['for another project', { projects: [{ project: 'two' }] }, 'ERR_SCOPE'],
    [
      'for another virtual cluster',
      { virtualClusters: [{ project: 'one', virtualCluster: 'lab' }] },
      'ERR_SCOPE',
    ],
    ['for nothing', {}, 'ERR_SCOPE'],
  ])('below a key %s', (_, scope, expected) => {
    const above = parent(scope);
    const judge = judgeWith(above, kubeConfig({ accessKey: 'root' }, [above]));
    expect(judge('GET /project/one/virtualcluster/shop/api/v1/pods')).toBe(expected);
    expect(judge('GET /project/one/virtualcluster/lab/api/v1/pods')).toBe('ERR_SCOPE');
  });
});

describe('a token for direct endpoints with the role platform-cli', () => {
  const role = [{ role: 'platform-cli' }];
  it.each<[string, object]>([
    ['alone', { scope: { roles: role } }],
    ['and rules for everything', { scope: { roles: role, rules: [{}] } }],
    ['and every cluster', { scope: { roles: role, clusters: [{ cluster: '*' }] } }],
    ['and every project', { scope: { roles: role, projects: [{ project: '*' }] } }],
    ['as a field of its own', { allowPlatformCli: true }],
    ['as a field, and rules beside it', { allowPlatformCli: true, rules: [{}] }],
  ])('%s reads what the role reads, and nothing else', (_, spec) => {
    const mayDo = judgeWith(token(spec));
    const reads = [`${group}/clusters`, `${group}/virtualclusterinstances`, '/api/v1/namespaces/p-one'];
    for (const path of reads) expect(mayDo(`GET /management${path}`)).toBe('allowed');
    expect(mayDo(`POST /management${group}/selves`)).toBe('allowed');
    const others = [
      'GET /management/api/v1/namespaces/p-one/pods',
      'GET /management/api/v1/namespaces/p-one/secrets',
      'GET /management/api/v1/namespaces/default',
      'GET /management/metrics',
      `POST /management${group}/namespaces/p-one/virtualclusterinstances/shop/kubeconfig`,
      `PATCH /management${group}/clusters/c`,
      `DELETE /management${group}/namespaces/p-one/virtualclusterinstances/shop`,
      `GET /management${group}/ownedaccesskeys`,
      'GET /cluster/c/api/v1/pods',
      'GET /cluster/c/version',
      'GET /project/one/virtualcluster/shop/api/v1/pods',
      'GET /project/one/space/s/api/v1/namespaces/team-space/pods',
    ];
    for (const line of others) expect([line, mayDo(line)]).toEqual([line, 'ERR_SCOPE']);
  });

  it.each<[string, object]>([
    ['another role', { scope: { roles: [{ role: 'agent' }] } }],
    ['no role and every rule', { scope: { rules: [{}] } }],
    ['a role that only looks like it', { scope: { roles: [{ role: 'Platform-CLI' }] } }],
    ['its role as a text', { scope: { roles: 'platform-cli' } }],
    ['its role in a list that is none', { scope: { roles: { role: 'platform-cli' } } }],
    ['false', { allowPlatformCli: false }],
  ])('is no token with %s', (_, spec) => {
    expect(judgeWith(token(spec))(`GET /management${group}/clusters`)).toBe('NotForGateway');
  });

  it('below a key whose scope says less reads less', () => {
    const above = parent({ projects: [{ project: 'one' }] });
    const below = confirmed(
      credentialObject({
        kind: 'DirectClusterEndpointToken',
        spec: { accessKey: 'root', scope: { roles: role } },
      }),
      [recordOf(above)],
    );
    const mayDo = judgeWith(above, below);
    expect(mayDo(`GET /management${group}/namespaces/p-one/virtualclusterinstances`)).toBe('allowed');
    expect(mayDo(`GET /management${group}/clusters`)).toBe('ERR_SCOPE');
  });
});

it('strangers fill no memory: a verdict is kept only for what is good', () => {
  const { verdicts } = judges();
  for (let index = 0; index < 10_000; index++) verdicts.find(`hash-${index}`);
  expect(verdicts.size).toBe(0);
});
