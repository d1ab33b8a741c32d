import { afterAll, describe, expect, it } from 'vitest';
import { applyKustomization } from '../../../lab/operator/kustomization.ts';
import { parseSitePolicy } from '../../../src/credentials/site-policy.ts';
import { admissionWorld } from '../admission/world.ts';
import { render } from '../config/render.ts';
import { clearPolicy, policyPath, writePolicy } from './site-policy.ts';

afterAll(clearPolicy);

const config = 'in the ConfigMap latchkey-system/latchkey-site-policy';
const world = await admissionWorld();
const read = async () => parseSitePolicy((await world.admin.send('GET', policyPath)).body);

describe('the site policy of a site', () => {
  it('is not written by an upgrade', async () => {
    await writePolicy(world, { maxKeyTTL: '6000' });
    const stored = (await world.admin.send('GET', policyPath)).body;
    await applyKustomization(world.plane, 'default');
    expect((await world.admin.send('GET', policyPath)).body).toEqual(stored);
    const shipped = await render(world.plane, 'default');
    expect(shipped.map(({ kind, metadata }) => `${kind}/${metadata.name}`)).not.toContain(
      'ConfigMap/latchkey-site-policy',
    );
  });

  it('takes the place of the recommended one, and the other way round', async () => {
    await writePolicy(world, { maxKeyTTL: '6000' });
    expect((await read()).requireEnd.value).toBe('false');
    await applyKustomization(world.plane, 'site-policy');
    const { maxima, requireEnd, requireScope, acceptPlainKey, unreadable } = await read();
    expect([...maxima]).toEqual([['maxKeyTTL', { value: 31_536_000, because: `by maxKeyTTL ${config}` }]]);
    expect([requireEnd.value, requireScope.value, acceptPlainKey.value]).toEqual(['true', 'others', 'true']);
    expect(unreadable).toEqual([]);
  });

  it('of the sample has every entry that can be read', async () => {
    await applyKustomization(world.plane, 'samples/site-policy');
    const { maxima, requireEnd, requireScope, acceptPlainKey, unreadable } = await read();
    expect([...maxima.keys()]).toEqual([
      'maxKeyTTL',
      'maxKeyTTL.Login',
      'maxKeyTTL.User',
      'maxTokenTTL',
      'maxCertificateTTL',
    ]);
    expect([requireEnd.value, requireScope.value, acceptPlainKey.value]).toEqual(['true', 'keys', 'false']);
    expect(unreadable).toEqual([]);
  });
});

describe('what the demo installs', () => {
  it('is config/default and the recommended site policy', async () => {
    const demo = await render(world.plane, new URL('../../../tools/demo/platform', import.meta.url).pathname);
    const recommended = await render(world.plane, 'site-policy');
    expect(recommended).toHaveLength(1);
    expect(demo).toEqual(expect.arrayContaining(recommended));
    expect(demo).toHaveLength((await render(world.plane, 'default')).length + 1);
  });
});
