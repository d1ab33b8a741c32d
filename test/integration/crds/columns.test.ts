import { describe, expect, it } from 'vitest';
import { manifestOf, uniqueName } from '../../../lab/operator/manifest.ts';
import { annotations } from '../../../src/api/names.ts';
import {
  directClusterEndpointTokens,
  ownedAccessKeys,
  type Resource,
  virtualClusterInstanceKubeConfigs,
  virtualClusterInstances,
} from '../../../src/api/resources.ts';
import { crdWorld, keyOf, type Stored, succeed } from './world.ts';

const world = await crdWorld();

const secret = 'plain-secret-of-the-column-test';
const expirationTimestamp = '2036-11-21T10:00:00Z';
const ready = {
  type: 'Ready',
  status: 'True',
  reason: 'Issued',
  message: 'The credential works',
  lastTransitionTime: '2026-11-21T10:00:00Z',
};
const status = {
  observedGeneration: 1,
  conditions: [ready],
  expirationTimestamp,
  keyID: 'key-id',
  subject: 'owner',
  state: 'Ready',
};

describe('kubectl get', () => {
  const get = (...flags: string[]): Promise<string> => succeed(world.plane.kubectl(['get', ...flags]));

  const store = async (resource: Resource, spec: object, observed: object): Promise<Stored> => {
    const manifest = manifestOf(resource, spec, { annotations: { [annotations.requester]: 'crd-admin' } });
    const stored = await world.store(resource, manifest);
    const patch = { status: { ...status, ...observed } };
    return await world.operator.mergePatch(resource, keyOf(stored), patch, { subresource: 'status' });
  };

  /** Headings and values of one object. Columns are as wide as their heading at least, and three spaces apart. */
  const row = async (resource: Resource, stored: Stored, ...flags: string[]): Promise<object> => {
    const text = await get(resource.plural, stored.metadata.name, ...flags);
    expect(text).not.toContain(secret);
    const [headings = '', values = ''] = text.split('\n');
    const starts = [...headings.matchAll(/(?<=^| {3})\S/g)].map(({ index }) => index);
    const cut = (line: string): string[] => starts.map((at, i) => line.slice(at, starts[i + 1]).trim());
    return Object.fromEntries(cut(headings).map((heading, i) => [heading, cut(values)[i]]));
  };

  const wide = { 'KEY ID': 'key-id' };
  const age = expect.stringMatching(/^\d+m?s$/);

  it.each([{ user: 'owner' }, { accessKey: 'root' }])(
    'tells all about an access key for %j, but the key',
    async (identity) => {
      const lastActivity = new Date(Date.now() - 3 * 60_000).toISOString().replace(/\.\d+Z$/, 'Z');
      const spec = { ...identity, key: secret, type: 'User', scope: {} };
      const stored = await store(ownedAccessKeys, spec, {
        active: true,
        lastActivity,
        scope: 'staging, shop',
      });
      const columns = {
        SUBJECT: 'owner',
        SCOPE: 'staging, shop',
        STATE: 'Ready',
        EXPIRES: expirationTimestamp,
        'LAST USED': expect.stringMatching(/^3m/),
        AGE: age,
      };
      const { name } = stored.metadata;
      expect(await row(ownedAccessKeys, stored)).toEqual({ NAME: name, ...columns });
      expect(await row(ownedAccessKeys, stored, '-o', 'wide')).toEqual({
        NAME: name,
        ...columns,
        PARENT: 'accessKey' in identity ? identity.accessKey : '',
        ...wide,
      });
    },
  );

  it('tells all about a token, but the token', async () => {
    const audiences = ['https://latchkey.example.com/cluster/staging', 'https://latchkey.example.com'];
    const stored = await store(
      directClusterEndpointTokens,
      { accessKey: 'root' },
      { token: secret, audiences, scope: 'staging, shop' },
    );
    const columns = {
      NAME: stored.metadata.name,
      SUBJECT: 'owner',
      SCOPE: 'staging, shop',
      STATE: 'Ready',
      EXPIRES: expirationTimestamp,
      AGE: age,
    };
    expect(await row(directClusterEndpointTokens, stored)).toEqual(columns);
    const all = { ...columns, PARENT: 'root', ...wide };
    expect(await row(directClusterEndpointTokens, stored, '-o', 'wide')).toEqual(all);
  });

  it.each(['vc-1', undefined])(
    'tells all about a kubeconfig for %s, but the kubeconfig',
    async (instance) => {
      const spec = instance === undefined ? {} : { virtualClusterInstance: instance };
      const observed = { kubeConfig: secret, auth: 'Token' };
      const stored = await store(virtualClusterInstanceKubeConfigs, spec, observed);
      const { name } = stored.metadata;
      const columns = {
        NAME: name,
        SUBJECT: 'owner',
        TARGET: instance ?? name,
        AUTH: 'Token',
        STATE: 'Ready',
        EXPIRES: expirationTimestamp,
        AGE: age,
      };
      expect(await row(virtualClusterInstanceKubeConfigs, stored)).toEqual(columns);
      expect(await row(virtualClusterInstanceKubeConfigs, stored, '-o', 'wide')).toEqual({
        ...columns,
        PARENT: '',
        ...wide,
      });
    },
  );

  it('knows the short names and the categories', async () => {
    const stored = await world.store(ownedAccessKeys, manifestOf(ownedAccessKeys));
    const instance = await world.store(virtualClusterInstances, manifestOf(virtualClusterInstances));
    const byShortName = await get('oak,dcet,vcik,vci,si,clusters.management.platform.sh', '-o', 'name');
    const byCategory = [await get('latchkey', '-o', 'name'), await get('platform', '-o', 'name')];
    for (const names of [byShortName, ...byCategory]) {
      expect(names).toContain(`ownedaccesskey.management.platform.sh/${stored.metadata.name}`);
      expect(names).toContain(`virtualclusterinstance.management.platform.sh/${instance.metadata.name}`);
    }
  });

  it('selects access keys by user, by parent and by being disabled', async () => {
    const user = uniqueName('user');
    const on = await world.store(ownedAccessKeys, manifestOf(ownedAccessKeys, { user }));
    const off = await world.store(ownedAccessKeys, manifestOf(ownedAccessKeys, { user, disabled: true }));
    const child = await world.store(ownedAccessKeys, manifestOf(ownedAccessKeys, { accessKey: user }));
    const select = async (selector: string): Promise<string[]> => {
      const names = await get('oak', '-o', 'name', '--field-selector', selector);
      return names.trim().replaceAll(/^.*\//gm, '').split('\n').sort();
    };
    expect(await select(`spec.user=${user}`)).toEqual([on.metadata.name, off.metadata.name].sort());
    expect(await select(`spec.user=${user},spec.disabled=true`)).toEqual([off.metadata.name]);
    expect(await select(`spec.accessKey=${user}`)).toEqual([child.metadata.name]);
  });

  it('has an explanation of each field', async () => {
    const explain = async (field: string): Promise<string> => {
      const text = await succeed(world.plane.kubectl(['explain', field]));
      return text.replaceAll(/\s+/g, ' ');
    };
    expect(await explain('oak.spec.oidcLogin')).toContain('Deprecated: use identity.');
    expect(await explain('dcet.spec.secretRef')).toContain('Secret that the operator makes');
    expect(await explain('vcik.spec.certificateTTL')).toMatch(/Life in seconds of the certificate/);
  });
});
