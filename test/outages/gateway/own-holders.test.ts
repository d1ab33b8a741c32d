import { expect, it } from 'vitest';
import { concurrently } from '../../../lab/operator/concurrently.ts';
import { until } from '../../../lab/operator/until.ts';
import { group, systemNamespace, systemObjects } from '../../../src/api/names.ts';
import { configMaps, type Resource } from '../../../src/api/resources.ts';
import { gatewayWorld } from '../../e2e/gateway/gateway-world.ts';
import {
  credential,
  type OwnAnswer,
  type OwnClient,
  ownClient,
  ownKeys,
  ownTokens,
} from '../../e2e/gateway/own-client.ts';

const world = await gatewayWorld();
const { admin } = world;
const prefix = world.name('crowd');
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

/** One after the other: fifty patches of one object at once are tried again and again by the API server, for seconds. */
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

/** All that one holder does, and every answer but those that make something. */
async function useAll(client: OwnClient, holder: string): Promise<readonly OwnAnswer[]> {
  const answers: OwnAnswer[] = [];
  const send = async (...request: Parameters<OwnClient['send']>) => {
    const answer = await client.send(...request);
    expect([request[0], answer.status, answer.text]).toEqual([request[0], 200, answer.text]);
    answers.push(answer);
  };
  const watching = client.send('GET', `${ownKeys}?watch=true&timeoutSeconds=4`);
  for (const [kind, place] of [
    ['key', ownKeys],
    ['token', ownTokens],
  ] as const) {
    const metadata = { name: `${prefix}-${kind}-${holder}` };
    const made = await client.send('POST', place, { body: { metadata, spec: { ttl: 600 } } });
    expect([made.status, made.text.match(credential)?.length]).toEqual([201, 1]);
    const path = `${place}/${metadata.name}`;
    await send('GET', place);
    await send('PATCH', path, { type: mergePatch, body: { metadata: { labels: { holder } } } });
    await send('GET', path);
    await changePolicies();
    await send('DELETE', path);
    await until('it is gone', async () => (await client.send('GET', path)).status === 404);
  }
  return [...answers, await watching];
}

it('50 holders work at once while two policies change, and none sees a name of another one or a credential again', async () => {
  const holders = Array.from({ length: 50 }, (_, index) => `h${index}h`);
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
      for (const { text } of await useAll(client, holder)) {
        expect(text).not.toMatch(credential);
        const names = text.match(new RegExp(`${prefix}-(?:key-|token-)?h\\d+h`, 'g')) ?? [];
        expect(names.filter((name) => !name.endsWith(`-${holder}`))).toEqual([]);
      }
      for (const place of [ownKeys, ownTokens]) {
        const { body } = await client.send('GET', place);
        expect(body.items).toHaveLength(place === ownKeys ? 1 : 0);
      }
    },
    holders.length,
  );
  await changePolicies();
  await until('both policies act as they are now', doAct);
}, 180_000);
