import type { Page, Route } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { uniqueName } from '../../lab/operator/manifest.ts';
import { until } from '../../lab/operator/until.ts';
import { expectAccessible, expectNoSidewaysScroll, takePicture } from './looks.ts';
import { expectNothingUnexpected, startPageWorld } from './page-world.ts';

const place = await startPageWorld();
const { world, open, openAs } = place;

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const rows = (page: Page) => page.locator('li.row');

describe('a name that somebody chose to do harm', () => {
  it.each([
    ['markup', '<img src=x onerror=alert(1)><script>alert(1)</script>'],
    ['an order from right to left', 'safe \u202ekcabdrawkcab\u202c \u2066\u200bname'],
    ['ten kilobytes', 'x'.repeat(10_000)],
  ])('is text, where it is %s', async (_, displayName) => {
    const { page } = await openAs(uniqueName('mallory'), {
      displayName: displayName.slice(0, 253),
      description: displayName.slice(0, 1_000),
    });
    await rows(page).first().waitFor();
    await rows(page).first().getByRole('button').click();
    expect(await page.locator('img, script:not([src])').count()).toBe(0);
    expect(await page.locator('bdi').first().textContent()).not.toMatch(/[\u200b\u202a-\u202e\u2066-\u2069]/);
    await page.setViewportSize({ width: 320, height: 640 });
    await expectNoSidewaysScroll(page);
    expectNothingUnexpected();
  });
});

describe('a network that goes away', () => {
  it('is said, and what changed meanwhile is there afterwards', async () => {
    const user = uniqueName('ivan');
    const { page } = await openAs(user);
    await rows(page).first().waitFor();
    await page.context().setOffline(true);
    await page.getByRole('alert').filter({ hasText: 'Cut off' }).waitFor();
    const { object } = await world.holder({ user, displayName: 'made meanwhile' });
    expect(await page.getByText('made meanwhile').count()).toBe(0);
    await page.context().setOffline(false);
    await page.getByText(object.spec.displayName).waitFor();
    await page.getByRole('alert').filter({ hasText: 'Cut off' }).waitFor({ state: 'hidden' });
  });
});

describe('a connection that carries nothing any more', () => {
  it('is said too, and the page tries again', async () => {
    const user = uniqueName('nina');
    const { page } = await openAs(user, {}, { hasClock: true });
    await rows(page).first().waitFor();
    // From now on nothing is answered, and nothing is refused.
    const hung: Route[] = [];
    await page.route(/\/kubernetes\/management\//, (route) => void hung.push(route));
    await page.clock.runFor(21_000);
    await until('the page looks whether the gateway is there', async () => hung.length > 0);
    await page.clock.runFor(31_000);
    const alert = page.getByRole('alert').filter({ hasText: 'gave no answer in time' });
    await alert.waitFor();
    await page.unroute(/\/kubernetes\/management\//);
    const { object } = await world.holder({ user, displayName: 'made meanwhile' });
    await page.clock.runFor(31_000);
    await page.getByText(object.spec.displayName).waitFor();
    await alert.waitFor({ state: 'hidden' });
  });
});

describe('people', () => {
  it('who use the keyboard alone end a key', async () => {
    const user = uniqueName('ken');
    const { page } = await openAs(user);
    await world.holder({ user, displayName: 'by keyboard' });
    await rows(page).filter({ hasText: 'by keyboard' }).waitFor();
    const press = async (what: RegExp, key = 'Tab') => {
      for (let step = 0; step < 30; step += 1) {
        await page.keyboard.press(key);
        const text = await page.evaluate(() => document.activeElement?.textContent ?? '');
        if (what.test(text)) return await page.keyboard.press('Enter');
      }
      throw new Error(`the focus never came to ${what}`);
    };
    await press(/^by keyboard$/);
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('by keyboard');
    await page.keyboard.press('Enter');
    await press(/^Delete$/);
    await press(/^Delete$/);
    await rows(page).filter({ hasText: 'by keyboard' }).waitFor({ state: 'detached' });
    expectNothingUnexpected();
  });

  it.each(['light', 'dark'] as const)('find no barrier on any view, in %s', async (colorScheme) => {
    const user = uniqueName('lena');
    await place.letIn(user);
    const { page, secret } = await openAs(user, { displayName: 'Laptop' });
    // Only colours differ in the dark.
    const rules = colorScheme === 'dark' ? ['color-contrast'] : undefined;
    await page.emulateMedia({ colorScheme });
    await makeSome(secret);
    await rows(page).nth(3).waitFor();
    await expectAccessible(page, rules);
    await takePicture(page, `keys-${colorScheme}`);
    await button(page, 'Make a key').click();
    await page.getByLabel('What it is for').fill('Look at the logs');
    await page.getByLabel('only what I choose').check();
    await page.getByLabel(`cluster ${place.cluster}`).waitFor();
    await expectAccessible(page, rules);
    await takePicture(page, `make-a-key-${colorScheme}`);
    await page.keyboard.press('Escape');
    await rows(page).nth(1).getByRole('button').click();
    await expectAccessible(page, rules);
    await takePicture(page, `a-key-${colorScheme}`);
    await button(page, 'Delete').click();
    await expectAccessible(page, rules);
    const stranger = await open({ colorScheme });
    await stranger.getByRole('button', { name: /^Log in at/ }).waitFor();
    await expectAccessible(stranger, rules);
    await takePicture(stranger, `login-${colorScheme}`);
  });

  it.each([
    [320, 640],
    // As a window of 1280 by 800 at 200 %.
    [640, 400],
  ])('in a window of %i by %i scroll in one direction only', async (width, height) => {
    const user = uniqueName('mia');
    await place.letIn(user);
    const { page } = await openAs(user, {
      displayName: 'A long name that does not fit in the window of a phone',
    });
    await page.setViewportSize({ width, height });
    await rows(page).first().waitFor();
    await expectNoSidewaysScroll(page);
    await takePicture(page, `list-${width}`);
    for (const view of ['Make a key', 'Get a kubeconfig']) {
      await button(page, view).click();
      await expectNoSidewaysScroll(page);
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'hidden' });
    }
  });
});

/** Keys as somebody may have them after some weeks. */
async function makeSome(key: string): Promise<void> {
  const make = async (spec: object) => {
    const { body } = await world.gateway.send(
      '/kubernetes/management/apis/management.platform.sh/v1/ownedaccesskeys',
      {
        key,
        method: 'POST',
        body: JSON.stringify({ spec }),
        headers: { 'content-type': 'application/json' },
      },
    );
    return ((await body.json()) as { spec: { key: string } }).spec.key;
  };
  const pipeline = await make({
    displayName: 'Pipeline of the shop',
    ttl: 86_400,
    scope: { projects: [{ project: place.project }] },
  });
  await make({ displayName: 'An old laptop', disabled: true });
  await world.gateway
    .send('/kubernetes/management/version', { key: pipeline })
    .then(({ body }) => body.dump());
  const child = { displayName: 'One run of it', ttl: 900 };
  const { body } = await world.gateway.send(
    '/kubernetes/management/apis/management.platform.sh/v1/ownedaccesskeys',
    {
      key: pipeline,
      method: 'POST',
      body: JSON.stringify({ spec: child }),
      headers: { 'content-type': 'application/json' },
    },
  );
  await body.dump();
}
