import { generateKeyPairSync } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { secretAt } from '../../../lab/operator/api.ts';
import { baseURL } from '../../../lab/operator/running-operator.ts';
import { until } from '../../../lab/operator/until.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { annotations, serviceAccounts, systemNamespace, systemObjects } from '../../../src/api/names.ts';
import { configMaps } from '../../../src/api/resources.ts';
import { isNotFound } from '../../../src/kube/kube-error.ts';
import type { KubeObject } from '../../../src/kube/object.ts';
import { objectPath } from '../../../src/kube/resource-path.ts';
import { adminClient, contentTypes } from '../../integration/admission/api-client.ts';
import { Issuer, signingKeyOf } from '../lifecycle/issuer.ts';

const world = await operatorWorld();
const { admin } = world;
const master = await adminClient(world.plane);
afterAll(async () => await master.close());
const issuer = new Issuer(admin);
const signingKeys = secretAt(systemNamespace, systemObjects.signingKeys);
const discovery = { namespace: systemNamespace, name: systemObjects.discovery };

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const token = async (): Promise<string> => (await admin.untilReady(await admin.createToken())).status.token;
const logged = async (text: string): Promise<void> => {
  await until(`the log says ${text}`, async () => (await world.operator.log()).includes(text));
};

describe('garbage in the Secret of the signing keys', () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey;
  const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  const pem = (key: typeof rsa): string => key.export({ type: 'pkcs8', format: 'pem' }) as string;

  it.each([
    ['text', 'garbage-in-an-entry'],
    ['nothing', ''],
    ['an RSA key', pem(rsa)],
    ['a key of another curve', pem(p384)],
    ['a key under a name that is not its thumbprint', pem(p256)],
  ])(
    'of an entry that holds %s is named in the log, never published, and changes no token',
    async (_, content) => {
      const kid = world.name('intruder');
      const before = await token();
      const published = await issuer.keyIDs();

      await admin.patch(signingKeys, { data: { [`${kid}.pem`]: base64(content) } });

      await logged(`${kid}.pem`);
      await issuer.verify(await token());
      expect(await issuer.keyIDs()).toEqual(published);
      await issuer.verify(before);
      const line = content.split('\n')[1] ?? content;
      if (line !== '') expect(await world.operator.log()).not.toContain(line);
      await admin.patch(signingKeys, { data: { [`${kid}.pem`]: null } });
    },
  );

  it('in place of the dates makes the present key one that is due for rotation, and ends no token', async () => {
    const before = await token();
    await admin.patch(signingKeys, { data: { 'keys.json': base64('{"createdAt":') } });
    await until('a key with dates', async () => {
      const { data } = await admin.get(signingKeys);
      const dates = Buffer.from(data?.['keys.json'] ?? '', 'base64').toString();
      return dates.includes(signingKeyOf(before)) && JSON.parse(dates);
    });
    expect(await issuer.keyIDs()).toContain(signingKeyOf(before));
    await issuer.verify(before);
    await issuer.verify(await token());
  });

  it('in place of everything revokes all keys: each token gets a successor', async () => {
    const before = await admin.untilReady(await admin.createToken());
    const { data = {} } = await admin.get(signingKeys);
    const garbage = Object.fromEntries(Object.keys(data).map((entry) => [entry, base64('garbage')]));

    await admin.patch(signingKeys, { data: garbage });

    const after = await admin.until(before, 'a successor', ({ status }) => status.serial === 2);
    await issuer.verify(after.status.token);
    await expect(issuer.verify(before.status.token)).rejects.toThrow('no applicable key');
  });

  it('in place of the issuer replaces the keys: they may have signed for somebody else', async () => {
    const before = await admin.untilReady(await admin.createToken());
    await admin.annotate(signingKeys, { [annotations.issuer]: 'https://elsewhere.example.com' });
    const after = await admin.until(before, 'a successor', ({ status }) => status.serial === 2);
    expect((await issuer.verify(after.status.token)).iss).toBe(baseURL);
    expect((await admin.get(signingKeys)).metadata.annotations).toMatchObject({
      [annotations.issuer]: baseURL,
    });
  });
});

describe('the published documents', () => {
  const read = async () =>
    (await admin.client.get<KubeObject & { data: object }>(configMaps, discovery)).data;

  /** As the operator: a policy refuses it to everyone else. */
  const alter = async (data: object): Promise<void> => {
    const path = objectPath(configMaps, discovery);
    const refused = await master.send('PATCH', path, {
      body: { data },
      contentType: contentTypes.mergePatch,
    });
    expect(refused.status).toBe(403);
    const operator = `system:serviceaccount:${systemNamespace}:${serviceAccounts.operator}`;
    const client = master.withHeaders({ 'impersonate-user': operator });
    const { status } = await client.send('PATCH', path, {
      body: { data },
      contentType: contentTypes.mergePatch,
    });
    expect(status).toBe(200);
  };

  it('come back when they are deleted', async () => {
    const before = await read();
    await admin.client.delete(configMaps, discovery);
    await until('the ConfigMap is back', async () => {
      const found = await read().catch((error: unknown) =>
        isNotFound(error) ? undefined : Promise.reject(error),
      );
      return found !== undefined && JSON.stringify(found) === JSON.stringify(before);
    });
    await issuer.verify(await token());
  });

  it.each(['jwks', 'openid-configuration'])(
    '%s comes back when somebody alters or removes it',
    async (document) => {
      const before = await read();
      for (const value of ['{"keys":[]}', null]) {
        await alter({ [document]: value });
        await until(
          `${document} is back`,
          async () => JSON.stringify(await read()) === JSON.stringify(before),
        );
      }
      await issuer.verify(await token());
    },
  );
});
