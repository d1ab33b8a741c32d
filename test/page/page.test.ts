import { text } from 'node:stream/consumers';
import type { Page } from 'playwright-core';
import { afterAll, describe, expect, it } from 'vitest';
import type { Stored } from '../../lab/operator/api.ts';
import { uniqueName } from '../../lab/operator/manifest.ts';
import { giveRight } from '../../lab/operator/rights.ts';
import { until } from '../../lab/operator/until.ts';
import { group } from '../../src/api/names.ts';
import { credentialLocks, credentialResources, ownedAccessKeys } from '../../src/api/resources.ts';
import { removeExchangedKeys } from '../e2e/gateway/exchanged-keys.ts';
import { knownHolder, untilKnown, untilUnknown } from '../e2e/gateway/known-holder.ts';
import { expectAccessible, takePicture } from './looks.ts';
import { expectNothingUnexpected, paste, startPageWorld, timeOf } from './page-world.ts';

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

/** Grows with each address for which the browser asks whether the page may send a request there. */
async function preflightsOf(page: Page): Promise<readonly string[]> {
  const asked: string[] = [];
  const session = await page.context().newCDPSession(page);
  session.on('Network.requestWillBeSent', ({ request }) => {
    if (request.method === 'OPTIONS') asked.push(request.url);
  });
  await session.send('Network.enable');
  return asked;
}

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
  const name = uniqueName('child');
  const accessKey = (await create(key, 'selves', {})).status.accessKey;
  await create(key, 'ownedaccesskeys', {
    metadata: { name },
    spec: { ttl: 600, displayName: name, accessKey },
  });
  return name;
}

async function create(key: string, path: string, object: object): Promise<Stored> {
  const { body, statusCode } = await gateway.send(
    `/kubernetes/management/apis/management.platform.sh/v1/${path}`,
    { key, method: 'POST', body: JSON.stringify(object), headers: { 'content-type': 'application/json' } },
  );
  const made = (await body.json()) as Stored;
  expect(statusCode, JSON.stringify(made)).toBe(201);
  return made;
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
    const others = await world.holder({ user: uniqueName('bob'), displayName: 'of somebody else' });
    await row(page, 'an old one').getByRole('button').click();
    await button(page, 'Delete').click();
    expect(await dialog(page).textContent()).toContain('is refused at once, and never comes back.');
    await button(page, 'Delete').click();
    await row(page, 'an old one').waitFor({ state: 'detached' });
    await untilUnknown(gateway, other.key);
    expect(await row(page, 'of somebody else').count()).toBe(0);
    expect(await admin.find(others.object)).toBeDefined();
    expect(secret).toMatch(/^lk_/);
    expectNothingUnexpected();
  });

  it('reads why a wrong key is not taken, and it stands in no field any more', async () => {
    const page = await open();
    await paste(page, 'lk_wrong');
    await page.getByRole('alert').filter({ hasText: /key/ }).waitFor();
    expect(await page.getByLabel('Or paste an access key').inputValue()).toBe('');
  });

  it.each([
    ['pasted key is forgotten', async (page: Page) => await button(page, 'Leave').click()],
    ['key ends by its time', async () => undefined],
  ])('whose %s sees nothing of it any more', async (_, leave) => {
    const { page, key } = await openAs(uniqueName('walt'), { ttl: 8 });
    await row(page, key.metadata.name).waitFor();
    await leave(page);
    await button(page, /^Log in at/).waitFor();
    expect(await row(page, key.metadata.name).count()).toBe(0);
    await page.goBack().catch(() => undefined);
    expect(await page.getByText('You are').count()).toBe(0);
  });

  it('whose key ends elsewhere in mid-work is told within a second, in every tab', async () => {
    const user = uniqueName('carol');
    const { page, key, secret } = await openAs(user);
    const second = await open();
    await paste(second, secret);
    const tabs = [page, second];
    for (const tab of tabs) await row(tab, key.metadata.name).waitFor();
    const told = await Promise.all(
      tabs.map(async (tab) => await timeOf(tab, { shows: 'not accepted any more' })),
    );
    const ended = Date.now();
    await admin.client.delete(ownedAccessKeys, { name: key.metadata.name });
    for (const at of told) expect((await at()) - ended).toBeLessThan(1_000);
  });
});

describe('what ends elsewhere', () => {
  const namespace = `p-${place.project}`;
  it.each<[string, string, object]>([
    ['a key', 'ownedaccesskeys', { ttl: 3_600 }],
    ['a token', 'directclusterendpointtokens', { ttl: 3_600 }],
    [
      'a kubeconfig',
      `namespaces/${namespace}/virtualclusterinstancekubeconfigs`,
      { virtualClusterInstance: place.instance, certificateTTL: 3_600 },
    ],
  ])('goes within a second in two tabs of one browser, if it is %s', async (_, path, spec) => {
    const user = uniqueName('olga');
    await place.letIn(user);
    const { page, secret } = await openAs(user);
    const second = await page.context().newPage();
    await second.goto(pageURL);
    await paste(second, secret);
    const tabs = [page, second];
    for (const tab of tabs) await row(tab, 'works').first().waitFor();
    const made = admin.track(await create(secret, path, { spec }));
    const { name } = made.metadata;
    for (const tab of tabs) await row(tab, name).getByText('works').waitFor();
    const gone = await Promise.all(tabs.map(async (tab) => await timeOf(tab, { hides: name })));
    const ended = Date.now();
    await admin.delete(made);
    for (const at of gone) expect((await at()) - ended).toBeLessThan(1_000);
    expectNothingUnexpected();
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

  it('is a token for direct endpoints, if that is chosen', async () => {
    const user = uniqueName('tess');
    await place.letIn(user);
    const { page } = await openAs(user);
    await button(page, 'Make a key').click();
    await page.getByLabel('a token for direct endpoints').check();
    await page.getByLabel('Ends after').selectOption('1 hour');
    await page.getByLabel('only what I choose').check();
    await page.getByLabel(`cluster ${place.cluster}`).check();
    await button(page, 'Make the key').click();
    await dialog(page).getByRole('heading', { name: 'Your new token' }).waitFor();
    expect(await page.getByLabel('Key', { exact: true }).inputValue()).toMatch(/^eyJ[\w-]+\./);
    await button(page, 'I have it').click();
    const made = row(page, `cluster ${place.cluster}`);
    await made.getByText('works').waitFor();
    expect(await made.textContent()).toMatch(/token.*Ends in 59 minutes/);
    await made.getByRole('button').click();
    await button(page, 'Delete').click();
    await button(page, 'Delete').click();
    await made.waitFor({ state: 'detached' });
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

  it('is changed twice, and the browser asks once whether the page may', async () => {
    const user = uniqueName('peggy');
    const page = await open();
    const asked = await preflightsOf(page);
    const { object, key } = await knownHolder(world, { user, displayName: 'to be changed' });
    await paste(page, key);
    const other = await world.holder({ user, displayName: 'another one' });
    for (const [change, state] of [
      ['Disable', 'disabled'],
      ['Enable', 'works'],
    ] as const) {
      await row(page, 'another one').getByRole('button').click();
      await button(page, change).click();
      await dialog(page).getByRole('button', { name: change }).click();
      await dialog(page).getByRole('button', { name: change }).waitFor({ state: 'detached' });
      await row(page, 'another one').getByText(state).first().waitFor();
    }
    const to = ({ metadata }: Stored) => asked.filter((url) => url.endsWith(`/${metadata.name}`)).length;
    expect([to(other.object), to(object)]).toEqual([1, 1]);
  });
});

describe('a lock', () => {
  it('is shown at what it stops, with its name and what to do, and what it stops works again without it', async () => {
    const user = uniqueName('lars');
    const { page } = await openAs(user);
    const stopped = await world.holder({ user, displayName: 'on a laptop' });
    const laptop = row(page, 'on a laptop');
    await laptop.getByText('works').waitFor();
    const lock = await admin.create(credentialLocks, { accessKey: { name: stopped.object.metadata.name } });
    await laptop.getByText('locked').waitFor();
    await laptop.getByRole('button').click();
    const text = await dialog(page).textContent();
    expect(text).toContain(lock.metadata.name);
    expect(text).toContain('Ask an administrator of the platform.');
    await page.keyboard.press('Escape');
    await admin.delete(lock);
    await laptop.getByText('works').waitFor();
    expectNothingUnexpected();
  });

  it('of the key of the page is said as the reason why it is not accepted any more', async () => {
    const { page, key } = await openAs(uniqueName('lara'));
    await row(page, key.metadata.name).waitFor();
    const lock = await admin.create(credentialLocks, { accessKey: { name: key.metadata.name } });
    await page
      .getByRole('alert')
      .filter({ hasText: /not accepted any more.*lock/i })
      .waitFor();
    await admin.delete(lock);
  });
});

describe('an administrator', () => {
  it('sees who holds what, what ends this week, what was never used and locks, and can change none of it', async () => {
    const user = uniqueName('root');
    const resources = Object.values(credentialResources).map(({ plural }) => plural);
    await giveRight(admin, user, {
      apiGroups: [group],
      resources: [...resources, credentialLocks.plural],
      verbs: ['list'],
    });
    const names = { soon: uniqueName('soon'), late: uniqueName('late'), used: uniqueName('used') };
    const other = uniqueName('bob');
    await world.holder({ user: other, displayName: names.soon, ttl: 86_400 });
    await world.holder({ user: other, displayName: names.late, ttl: 30 * 86_400 });
    const used = await world.holder({ user: other, displayName: names.used });
    await untilKnown(gateway, used.key);
    await admin.until(used.object, 'used', ({ status }) => status?.lastActivity !== undefined);
    const lock = await admin.create(credentialLocks, { user: uniqueName('no-one'), reason: 'INC-42' });
    const { page } = await openAs(user);
    await button(page, 'Everyone\u2019s credentials').click();
    await page.getByText(lock.metadata.name).waitFor();
    await page.getByLabel('Find').fill(other);
    const shown = async () => (await page.locator('li.row').allTextContents()).join('\n');
    await page.getByText(/^3 of \d+ credentials$/).waitFor();
    expect(await shown()).toContain(`key of ${other}`);
    expect(await shown()).toContain('all that its holder may reach');
    for (const [question, expected] of [
      ['what ends this week', ['soon']],
      ['what has no end', ['used']],
      ['keys that were never used', ['soon', 'late']],
    ] as const) {
      await page.getByLabel('Show').selectOption(question);
      await page.getByText(new RegExp(`^${expected.length} of`)).waitFor();
      for (const [each, name] of Object.entries(names))
        await row(page, name).waitFor({
          state: (expected as readonly string[]).includes(each) ? 'attached' : 'detached',
        });
    }
    await expectAccessible(page);
    await takePicture(page, 'everyone-light');
    await row(page, names.soon).getByRole('button').click();
    await dialog(page).getByText(other).first().waitFor();
    expect(await dialog(page).getByRole('button').allTextContents()).toEqual(['\u00d7']);
    await page.keyboard.press('Escape');
    await button(page, 'Back to your own').click();
    await row(page, names.soon).waitFor({ state: 'detached' });
    await button(page, 'Make a key').waitFor();
    expectNothingUnexpected();
  });

  it('is who may list credentials at the API server: other people have no such view', async () => {
    const { key } = await knownHolder(world, { user: uniqueName('eve') });
    const page = await open();
    const asked = page.waitForResponse(/everyone=true/);
    await paste(page, key);
    expect((await asked).status()).toBe(403);
    expect(await button(page, 'Everyone\u2019s credentials').count()).toBe(0);
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
    const present = async () =>
      (await ownKeys(place.person, '')).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    const before = (await present()).map(({ metadata }) => metadata.name);
    const page = await open();
    // Before that the browser does not know that it may send a DELETE there, and a tab that goes has no time to ask.
    const isKnown = page.waitForResponse((answer) => /\/ownedaccesskeys\/[^/?]+$/.test(answer.url()));
    await logIn(page);
    await Promise.all([isKnown, row(page, 'login').first().waitFor()]);
    const own = (await present()).filter(({ metadata }) => !before.includes(metadata.name));
    expect(own).toHaveLength(1);
    await page.goto('about:blank');
    const names = own.map(({ metadata }) => metadata.name);
    const isGone = async () => (await present()).every(({ metadata }) => !names.includes(metadata.name));
    await until('the key is gone', isGone);
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
