import { expect, it } from 'vitest';
import { concurrently } from '../../../lab/operator/concurrently.ts';
import { until } from '../../../lab/operator/until.ts';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { group, systemNamespace, systemObjects } from '../../../src/api/names.ts';
import { configMaps, credentialResources, type Resource } from '../../../src/api/resources.ts';
import { gatewayWorld } from '../../e2e/gateway/gateway-world.ts';
import {
  credential,
  type OwnClient,
  ownAPI,
  ownClient,
  ownKeys,
  ownTokens,
} from '../../e2e/gateway/own-client.ts';
import { Project } from '../../e2e/kubeconfigs/kubeconfig-world.ts';

const world = await gatewayWorld();
const { admin } = world;
const prefix = world.name('crowd');
const project = await Project.ready(world, await sharedVirtualCluster());
await world.plane.kubectl([
  ...['create', 'rolebinding', 'everybody', `--namespace=${project.namespace}`],
  ...['--role=users', '--group=system:authenticated'],
]);
const forInstance = { virtualClusterInstance: project.instance.metadata.name, certificateTTL: 600 };
const kinds = [
  ['key', ownKeys, { ttl: 600 }],
  ['token', ownTokens, { ttl: 600 }],
  ['kubeconfig', `${ownAPI}/namespaces/${project.namespace}/virtualclusterinstancekubeconfigs`, forInstance],
] as const;
const mergePatch = 'application/merge-patch+json';

const admission = 'admissionregistration.k8s.io';
const policies: Resource = {
  group: admission,
  version: 'v1',
  kind: 'ValidatingAdmissionPolicy',
  plural: 'validatingadmissionpolicies',
  namespaced: false,
};
const bindings = {
  ...policies,
  kind: `${policies.kind}Binding`,
  plural: 'validatingadmissionpolicybindings',
};
const sitePolicy = { namespace: systemNamespace, name: systemObjects.sitePolicy };
const policyOfSite = { name: `${prefix}-things` };
const mark = 'example.com/version';
let version = 4_000;

/** Two policies that allow what the holders do: the site policy, and one that the site has written itself. They refuse another thing each time. */
const policiesOf = (now: number) => ({
  entries: { data: { maxKeyTTL: String(now), maxTokenTTL: String(now) } },
  rules: {
    validations: [
      {
        expression: `object.metadata.?annotations[?'${mark}'] != optional.of('${now}')`,
        message: `not ${now} things`,
      },
    ],
  },
});

async function makePolicies(): Promise<void> {
  const { entries, rules } = policiesOf(version);
  const head = { apiVersion: `${admission}/v1`, metadata: policyOfSite };
  const resourceRules = [
    { apiGroups: [group], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: ['*'] },
  ];
  const spec = { failurePolicy: 'Fail', matchConstraints: { resourceRules }, ...rules };
  await admin.createObject(policies, { ...head, kind: policies.kind, spec });
  const bound = { policyName: policyOfSite.name, validationActions: ['Deny'] };
  await admin.createObject(bindings, { ...head, kind: bindings.kind, spec: bound });
  await admin.createObject(configMaps, {
    ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: sitePolicy },
    ...entries,
  });
}

let changed = Promise.resolve();

/** One after the other: many patches of one object at once are tried again and again by the API server, for seconds. */
async function changePolicies(): Promise<void> {
  changed = changed.then(changeThem);
  await changed;
}

async function changeThem(): Promise<void> {
  version += 1;
  const { entries, rules } = policiesOf(version);
  await admin.client.mergePatch(configMaps, sitePolicy, entries);
  await admin.client.mergePatch(policies, policyOfSite, { spec: rules });
}

/** Whether both refuse what they refuse now. */
async function doPoliciesAct(client: OwnClient): Promise<boolean> {
  const annotations = { [mark]: String(version) };
  const bodies = [{ spec: { ttl: version + 1 } }, { metadata: { annotations }, spec: { ttl: 600 } }];
  const answers = await Promise.all(
    bodies.map(async (body) => await client.send('POST', `${ownTokens}?dryRun=All`, { body })),
  );
  const [life, thing] = answers.map(({ text }) => text) as [string, string];
  return life.includes(`${version} seconds`) && thing.includes(`not ${version} things`);
}

/** All that one holder does, and every text but those of answers that make something. */
async function useAll(client: OwnClient, holder: string): Promise<readonly string[]> {
  const texts: string[] = [];
  const send = async (...request: Parameters<OwnClient['send']>) => {
    const answer = await client.send(...request);
    expect([request[0], answer.status, answer.text]).toEqual([request[0], 200, answer.text]);
    texts.push(answer.text);
  };
  const watches = await Promise.all(
    kinds.map(async ([, place]) => await client.watch(`${place}?watch=true`)),
  );
  for (const [index, [kind, place, spec]] of kinds.entries()) {
    const metadata = { name: `${prefix}-${kind}-${holder}` };
    const made = await client.send('POST', place, { body: { metadata, spec } });
    expect([made.status, made.text.match(credential)?.length]).toEqual([201, 1]);
    const path = `${place}/${metadata.name}`;
    await send('GET', place);
    await send('PATCH', path, { type: mergePatch, body: { metadata: { labels: { holder } } } });
    await send('GET', path);
    await changePolicies();
    await send('DELETE', path);
    await until('it is gone', async () => (await client.send('GET', path)).status === 404);
    await watches[index]?.until('the watch has seen all of it', (events) => {
      const about = events.filter(({ object }) => object.metadata.name === metadata.name);
      const types = about.map(({ type }) => type);
      const isLabelled = about.some(({ object }) => object.metadata.labels?.['holder'] === holder);
      return types[0] === 'ADDED' && isLabelled && types.at(-1) === 'DELETED';
    });
  }
  const isOpen = watches.map(({ ended }) => Promise.race([ended, Promise.resolve('open')]));
  expect(await Promise.all(isOpen)).toEqual(watches.map(() => 'open'));
  for (const watch of watches) watch.end();
  return [...texts, ...watches.map(({ text }) => text)];
}

/** Lists what an administrator finds of all that the holders made. */
async function leftOver(): Promise<readonly string[]> {
  const lists = Object.values(credentialResources).map(async (each) => await admin.client.list(each));
  const names = (await Promise.all(lists)).flatMap(({ items }) => items.map(({ metadata }) => metadata.name));
  return names.filter((name) => name.startsWith(prefix));
}

it('20 holders work at once while two policies change, and none sees a name of another one or a credential again', async () => {
  const holders = Array.from({ length: 20 }, (_, index) => `h${index}h`);
  const clients = new Map<string, OwnClient>();
  await concurrently(holders, async (holder) => {
    clients.set(holder, await ownClient(world, { user: `${prefix}-${holder}` }));
  });
  await makePolicies();
  const [first] = clients.values();
  const doAct = async () => await doPoliciesAct(first as OwnClient);
  await until('both policies act', doAct);
  await concurrently(
    holders,
    async (holder) => {
      const client = clients.get(holder) as OwnClient;
      for (const text of await useAll(client, holder)) {
        expect(text).not.toMatch(credential);
        const names = text.match(new RegExp(`${prefix}-(?:key-|token-|kubeconfig-)?h\\d+h`, 'g')) ?? [];
        expect(names.filter((name) => !name.endsWith(`-${holder}`))).toEqual([]);
      }
      for (const [, place] of kinds) {
        const { body } = await client.send('GET', place);
        expect(body.items).toHaveLength(place === ownKeys ? 1 : 0);
      }
    },
    holders.length,
  );
  await changePolicies();
  await until('both policies act as they are now', doAct);
  let left: readonly string[] = [];
  const isNothingLeft = async () => {
    left = await leftOver();
    return left.length === 0;
  };
  await until('nothing is left', isNothingLeft, { seen: () => left });
}, 180_000);
