import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

/** `PICTURES=docs/reference/pictures npm run test:page` makes those of the documentation. */
const pictures = process.env['PICTURES'] ?? 'coverage/pictures';

/** No rule of axe is broken, best practices included; or none of these. The policy of the page lets no script in, so this one comes by the debugger. */
export async function expectAccessible(page: Page, rules?: readonly string[]): Promise<void> {
  await page.evaluate(axe.source);
  const found = await page.evaluate(async (runOnly) => {
    // biome-ignore lint/suspicious/noExplicitAny: axe puts itself there.
    const { violations } = await (globalThis as any).axe.run(runOnly ? { runOnly } : {});
    return violations.map((each: { id: string; nodes: { html: string; failureSummary: string }[] }) => [
      each.id,
      each.nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`),
    ]);
  }, rules);
  expect(found).toEqual([]);
}

/** Nothing stands beside the window, so no one has to scroll in two directions. */
export async function expectNoSidewaysScroll(page: Page): Promise<void> {
  const [inside, window] = await page.evaluate(() => [
    document.documentElement.scrollWidth,
    document.documentElement.clientWidth,
  ]);
  expect(inside).toBeLessThanOrEqual(window ?? 0);
}

export async function takePicture(page: Page, name: string): Promise<void> {
  await mkdir(pictures, { recursive: true });
  await page.screenshot({ path: path.join(pictures, `${name}.png`), scale: 'css' });
}
