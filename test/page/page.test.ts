import { text } from 'node:stream/consumers';
import type { Page } from 'playwright-core';
import { afterAll, describe, expect, it } from 'vitest';
import type { Stored } from '../../lab/operator/api.ts';
import { uniqueName } from '../../lab/operator/manifest.ts';
import { giveRight } from '../../lab/operator/rights.ts';
import { until } from '../../lab/operator/until.ts';
import { ownedAccessKeys } from '../../src/api/resources.ts';
import { removeExchangedKeys } from '../e2e/gateway/exchanged-keys.ts';
import { untilKnown, untilUnknown } from '../e2e/gateway/known-holder.ts';
import { expectNothingUnexpected, paste, startPageWorld } from './page-world.ts';

const place = await startPageWorld();
const { world, open, openAs, provider, pageURL } = place;
const { admin, gateway } = world;
afterAll(async () => await removeExchangedKeys(world.plane));

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });
const row = (page: Page, name: string) => page.locator('li.row').filter({ hasText: name });
const dialog = (page: Page) => page.getByRole('dialog');

const statusOf = async (path: string, key: string, method: 'GET' | 'DELETE' = 'GET') => {
  const { statusCode, body } = await gateway.send(path, { key, method });
  await body.dump();
  return statusCode;
};

/** Keys of the user with this display name. */
async function ownKeys(user: string, displayName: string): Promise<readonly Stored[]> {
  const { items } = await admin.client.list<Stored>(ownedAccessKeys);
  return items.filter(
    ({ spec }) =>
      spec.user === user &&
      (displayName === '' ? !spec.key?.startsWith('lk_') : spec.displayName === displayName),
  );
}

/** A key below this one. Gives its name. */
async function makeChild(key: string): Promise<string> {
  const path = '/kubernetes/management/apis/management.platform.sh/v1/ownedaccesskeys';
  const name = uniqueName('child');
  const spec = { ttl: 600, displayName: name };
  const { body } = await gateway.send(path, {
    ...{
      key,
      method: 'POST',
      body: JSON.stringify({ metadata: { name }, spec: { ...spec, accessKey: await nameOf(key) } }),
    },
    headers: { 'content-type': 'application/json' },
  });
  const made = (await body.json()) as Stored;
  return made.metadata.name;
}

async function nameOf(key: string): Promise<string> {
  const path = '/kubernetes/management/apis/management.platform.sh/v1/selves';
  const { body } = await gateway.send(path, {
    key,
    method: 'POST',
    body: '{}',
    headers: { 'content-type': 'application/json' },
  });
  return ((await body.json()) as Stored).status.accessKey;
}

/** As the person reads and types. */
async function logIn(page: Page): Promise<void> {
  await button(page, /^Log in at/).click();
  await page.getByLabel('Login').fill('dana');
  await page.getByLabel('Password').fill(provider.password);
  await button(page, 'Continue').click();
  // Providers ask again whether a native application may do this.
  await page.getByLabel('Login').waitFor({ state: 'detached' });
  await button(page, 'Continue').click();
  await page.getByText(`You are ${place.person}`).waitFor();
}

describe('a person', () => {
  it('logs in at the provider, and the address and the storage of the tab hold nothing of it', async () => {
    const page = await open();
    await logIn(page);
    expect(page.url()).toBe(`${pageURL}/`);
    expect(await page.evaluate(() => [sessionStorage.length, localStorage.length, document.cookie])).toEqual([
      0,
      0,
      '',
    ]);
    await row(page, 'login').first().waitFor();
    await button(page, 'Log out').click();
    await button(page, /^Log in at/).waitFor();
    // The provider takes no second answer to its pages.
    await page.goBack().catch(() => undefined);
    expect(await page.getByText('You are').count()).toBe(0);
    expectNothingUnexpected();
  });

  it('sees own keys alone, and ends one, which the gateway refuses from then on', async () => {
    const user = uniqueName('alice');
    const { page, secret } = await openAs(user, { displayName: 'of this page' });
    const other = await world.holder({ user, displayName: 'an old one' });
    const foreign = await world.holder({ user: uniqueName('bob'), displayName: 'of somebody else' });
    await row(page, 'an old one').getByRole('button').click();
    await button(page, 'Delete').click();
    expect(await dialog(page).textContent()).toContain('is refused at once, and never comes back.');
    await button(page, 'Delete').click();
    await row(page, 'an old one').waitFor({ state: 'detached' });
    await untilUnknown(gateway, other.key);
    expect(await row(page, 'of somebody else').count()).toBe(0);
    expect(await admin.find(foreign.object)).toBeDefined();
    expect(secret).toMatch(/^lk_/);
    expectNothingUnexpected();
  });

  it('reads why a wrong key is not taken, and it stands in no field any more', async () => {
    const page = await open();
    await paste(page, 'lk_wrong');
    await page.getByRole('alert').filter({ hasText: /key/ }).waitFor();
    expect(await page.getByLabel('Or paste an access key').inputValue()).toBe('');
  });

  it('whose key ends elsewhere in mid-work is told within a second, in every tab', async () => {
    const user = uniqueName('carol');
    const { page, key, secret } = await openAs(user);
    const second = await open();
    await paste(second, secret);
    for (const tab of [page, second]) await row(tab, key.metadata.name).waitFor();
    await admin.client.delete(ownedAccessKeys, { name: key.metadata.name });
    const told = performance.now();
    for (const tab of [page, second])
      await tab.getByRole('alert').filter({ hasText: 'not accepted any more' }).waitFor();
    expect(performance.now() - told).toBeLessThan(2_000);
  });
});

describe('a key that is made here', () => {
  it('reaches what was chosen, is shown once, can be copied, and works', async () => {
    const user = uniqueName('erin');
    await place.letIn(user);
    const { page } = await openAs(user);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await button(page, 'Make a key').click();
    await page.getByLabel('What it is for').fill('look at the shop');
    await page.getByLabel('Ends after').selectOption('8 hours');
    await page.getByLabel('only what I choose').check();
    await page.getByLabel(`virtual cluster ${place.project}/${place.instance}`).check();
    await button(page, 'Make the key').click();
    const field = page.getByLabel('Key', { exact: true });
    const key = await field.inputValue();
    await untilKnown(gateway, key);
    await button(page, 'Copy').click();
    await button(page, 'Copied').waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(key);
    await page.goBack();
    await dialog(page).waitFor({ state: 'hidden' });
    expect(await page.content()).not.toContain(key);
    expect(
      await page.evaluate(() => [...document.querySelectorAll('input')].map(({ value }) => value)),
    ).not.toContain(key);
    const made = row(page, 'look at the shop');
    await made.getByText(`virtual cluster ${place.project}/${place.instance}`).waitFor();
    expect(await made.textContent()).toMatch(/Ends in 7 hours/);
    const [stored] = await ownKeys(user, 'look at the shop');
    expect(stored?.spec.scope).toEqual({
      virtualClusters: [{ project: place.project, virtualCluster: place.instance }],
    });
    expectNothingUnexpected();
  });

  it('for an agent reads for minutes, and never a Secret', async () => {
    const user = uniqueName('agent');
    await place.letIn(user);
    const rights = { apiGroups: [''], resources: ['pods', 'secrets'], verbs: ['*'] };
    await giveRight(admin, user, rights);
    const { page } = await openAs(user);
    await button(page, 'Make a key').click();
    await button(page, /^For an agent/).click();
    await page.getByLabel(`cluster ${place.cluster}`).check();
    expect(await page.getByLabel(`everything in project ${place.project}`).isDisabled()).toBe(true);
    await button(page, 'Make the key').click();
    const key = await page.getByLabel('Key', { exact: true }).inputValue();
    const target = `/kubernetes/cluster/${place.cluster}/api/v1/namespaces/default`;
    await until('it reads pods', async () => (await statusOf(`${target}/pods`, key)) === 200);
    expect(await statusOf(`${target}/secrets`, key)).toBe(403);
    expect(await statusOf(`${target}/secrets/any`, key)).toBe(403);
    expect(await statusOf(`${target}/pods/any`, key, 'DELETE')).toBe(403);
    const [stored] = await ownKeys(user, '');
    expect(stored?.spec.ttl).toBe(900);
  });
});

describe('a key of one\u2019s own', () => {
  it('gets a new key, and the old one is refused', async () => {
    const user = uniqueName('frank');
    const { page } = await openAs(user);
    const old = await world.holder({ user, displayName: 'rotated' });
    await row(page, 'rotated').getByRole('button').click();
    for (const _ of ['asked for', 'confirmed'])
      await dialog(page).getByRole('button', { name: 'Rotate' }).click();
    const key = await page.getByLabel('Key', { exact: true }).inputValue();
    await untilKnown(gateway, key);
    await untilUnknown(gateway, old.key);
  });

  it('is disabled and enabled, here and elsewhere, with a sentence that names what rests with it', async () => {
    const user = uniqueName('grace');
    const { page } = await openAs(user);
    const parent = await world.holder({ user, displayName: 'the one above' });
    await untilKnown(gateway, parent.key);
    const child = await makeChild(parent.key);
    const below = row(page, child);
    await below.waitFor();
    expect(await below.textContent()).toContain(`ends with ${parent.object.metadata.name}`);
    await row(page, 'the one above').first().getByRole('button').click();
    await button(page, 'Disable').click();
    expect(await dialog(page).textContent()).toContain(`With it rest 1 key: ${child}.`);
    await button(page, 'Disable').click();
    await row(page, 'the one above').getByText('disabled').first().waitFor();
    await untilUnknown(gateway, parent.key);
    await admin.patch(parent.object, { spec: { disabled: false } });
    await row(page, 'the one above').getByText('works').first().waitFor();
  });
});

describe('a kubeconfig', () => {
  it('is downloaded with the command in it, or with a token', async () => {
    const user = uniqueName('heidi');
    await place.letIn(user);
    const { page } = await openAs(user);
    const download = async (form: string) => {
      await button(page, 'Get a kubeconfig').click();
      await page
        .getByLabel('For', { exact: true })
        .selectOption(`virtualcluster/${place.project}/${place.instance}`);
      await page.getByLabel(form).check();
      const [file] = await Promise.all([page.waitForEvent('download'), button(page, 'Download').click()]);
      return { name: file.suggestedFilename(), document: await text(await file.createReadStream()) };
    };
    const asked = await download('without a key');
    expect(asked.name).toBe(`${place.instance}.kubeconfig`);
    const { clusters, users } = JSON.parse(asked.document);
    expect(clusters[0].cluster.server).toBe(
      `${place.baseURL}/kubernetes/project/${place.project}/virtualcluster/${place.instance}`,
    );
    expect(users[0].user.exec).toMatchObject({
      command: 'latchkey',
      args: ['credential', '--base-url', place.baseURL],
    });
    expect((await download('with a token')).document).toMatch(/kind: Config[\s\S]*token: /);
    await row(page, 'kubeconfig').first().waitFor();
  });
});

describe('the key of a login', () => {
  it('ends when the tab goes', async () => {
    const page = await open();
    await logIn(page);
    await row(page, 'login').first().waitFor();
    await page.goto('about:blank');
    await until('the key is gone', async () =>
      (await ownKeys(place.person, '')).every(({ metadata }) => metadata.deletionTimestamp),
    );
  });

  it('asks before a logout that ends what was made with it', async () => {
    const page = await open();
    await logIn(page);
    await button(page, 'Make a key').click();
    await page.getByText('It ends with the key of this page').waitFor();
    await button(page, 'Make the key').click();
    const key = await page.getByLabel('Key', { exact: true }).inputValue();
    await untilKnown(gateway, key);
    await button(page, 'I have it').click();
    await button(page, 'Log out').click();
    expect(await dialog(page).textContent()).toContain('and with it 1 key that you made here');
    await button(page, 'Cancel').click();
    expect(await statusOf('/kubernetes/management/version', key)).toBe(200);
    await button(page, 'Log out').click();
    await dialog(page).getByRole('button', { name: 'Log out' }).click();
    await untilUnknown(gateway, key);
    expectNothingUnexpected();
  });
});
