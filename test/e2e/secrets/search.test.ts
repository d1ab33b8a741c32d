import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { kubectlOf } from '../../../lab/operator/kubectl.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { healthOf, metricsOf } from '../../../lab/operator/telemetry.ts';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { operatorWorld, targetSettings } from '../../../lab/operator/world.ts';
import { group } from '../../../src/api/names.ts';
import { configMaps } from '../../../src/api/resources.ts';
import { KnownSecrets } from './known-secrets.ts';
import { KubeConfigRun } from './kubeconfig-run.ts';
import { type Place, placesInObjects, placesInText } from './places.ts';
import { WholeRun } from './whole-run.ts';

const world = await operatorWorld({
  env: { ...targetSettings, LATCHKEY_LOG_LEVEL: 'trace', LATCHKEY_ACTIVITY_INTERVAL: '1s' },
});
const cluster = await sharedVirtualCluster();
const kubectl = await kubectlOf(world, 'secret-user');
const known = new KnownSecrets();

describe('after a whole run', () => {
  const run = new WholeRun(world, kubectl, known);
  let objects: readonly Place[];

  beforeAll(async () => {
    await giveRight(world.admin, 'secret-user', {
      apiGroups: [group],
      resources: ['ownedaccesskeys'],
      verbs: ['manage-platform-fields'],
    });
    await run.generatedKeys();
    await run.suppliedKeys();
    await run.refusedKeys();
    await run.keysInSecrets();
    await run.signingKeys();
    await run.tokens();
    await run.logins();
    await run.ownToken();
    await new KubeConfigRun(world, cluster, known).whole();
    objects = await placesInObjects(world);
  });

  it('no object has a secret outside of the fields and Secrets that are meant for it', () => {
    expect(known.astray(objects)).toEqual([]);
  });

  it('each secret that is still valid stands where it is meant to be, so the search has seen those places', () => {
    const found = new Set(known.atHome(objects).map(({ secret }) => secret));
    expect([...found].sort()).toEqual(known.valid.toSorted());
    expect(known.valid.length).toBeGreaterThan(15);
  });

  it('no object inside the virtual cluster has one', async () => {
    const inside = await placesInObjects(cluster);
    expect(inside.some(({ where }) => where.startsWith('ClusterRoleBinding/latchkey-'))).toBe(true);
    expect(known.astray(inside)).toEqual([]);
  });

  it('events are among the objects, and none has a secret', () => {
    const events = objects.filter(({ where }) => where.startsWith('Event/'));
    const seen = new Set(events.filter(({ where }) => where.endsWith(' reason')).map(({ text }) => text));
    expect([...seen]).toEqual(
      expect.arrayContaining([
        ...['Issued', 'Rotated', 'DuplicateKey', 'TokenTooLarge', 'Expired'],
        ...['Connected', 'KubeConfigRefused'],
      ]),
    );
    expect(known.astray(events)).toEqual([]);
  });

  it('what kubectl is told of a refusal has none', () => {
    expect(run.refusals).toHaveLength(2);
    expect(known.astray(placesInText('refusals', run.refusals.join('\n')))).toEqual([]);
  });

  it('the log at its most talkative has none', async () => {
    const log = await world.operator.log();
    expect(log).toContain('"reason":"DuplicateKey"');
    expect(known.astray(placesInText('log', log))).toEqual([]);
  });

  it.each(['/metrics', '/readyz?verbose', '/livez?verbose'])('%s has none', async (page) => {
    const text =
      page === '/metrics' ? await metricsOf(world.operator) : (await healthOf(world.operator, page)).text;
    expect(text.length).toBeGreaterThan(0);
    expect(known.astray(placesInText(page, text))).toEqual([]);
  });
});

describe('the search', () => {
  const secret = `planted "${randomBytes(24).toString('base64')}"`;
  const planted = new KnownSecrets();
  planted.add('the planted secret', secret);
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const hexadecimal = Buffer.from(secret).toString('hex');
  const forms = {
    'as it is': secret,
    'within a longer text': `before ${secret} after`,
    'in base64': base64(secret),
    'in the base64 of something longer, at 1': base64(`1${secret} after`),
    'in the base64 of something longer, at 2': base64(`12${secret} after`),
    'in JSON': JSON.stringify({ secret }),
    'in JSON within JSON': JSON.stringify({ entry: JSON.stringify({ secret }) }),
    'in a URL': `https://example.com/?key=${encodeURIComponent(secret)}`,
    'in hexadecimal': hexadecimal,
  };
  const name = world.name('planted');
  const entryOf = (form: string): string => form.replaceAll(/\W+/g, '-');
  let wheres: readonly string[];

  beforeAll(async () => {
    const data = Object.fromEntries(Object.entries(forms).map(([form, text]) => [entryOf(form), text]));
    const metadata = { namespace: 'default', name, annotations: { 'example.com/note': secret } };
    const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { ...data, [hexadecimal]: '' } };
    await world.admin.createObject(configMaps, configMap);
    wheres = planted.astray(await placesInObjects(world)).map(({ where }) => where);
  });

  it.each(Object.keys(forms))('finds a secret in a ConfigMap %s', (form) => {
    expect(wheres).toContain(`ConfigMap/default/${name} data.${entryOf(form)}`);
  });

  it('finds one in an annotation and one in the name of a field', () => {
    expect(wheres).toContain(`ConfigMap/default/${name} metadata.annotations.example.com/note`);
    expect(wheres).toContain(`ConfigMap/default/${name} data (name of a field)`);
  });

  it('finds one in a log, and one at home that stands elsewhere too', () => {
    const line = JSON.stringify({ level: 'info', msg: 'issued', err: { message: `cannot parse ${secret}` } });
    expect(planted.astray(placesInText('log', `first\n${line}`))).toEqual([
      { secret: 'the planted secret', form: 'JSON', where: 'log line 2' },
    ]);
    const homely = new KnownSecrets();
    homely.add('homely', secret, ['A/a spec.key']);
    const places = ['A/a spec.key', 'A/b spec.key'].map((where) => ({ where, text: secret }));
    expect(homely.astray(places)).toEqual([{ secret: 'homely', form: 'plain', where: 'A/b spec.key' }]);
  });
});
