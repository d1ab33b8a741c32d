import { readFile } from 'node:fs/promises';
import type { Browser, BrowserContextOptions, Page, Response } from 'playwright-core';
import { afterAll, expect } from 'vitest';
import { Guard } from '../../lab/controlplane/guard.ts';
import { freePort } from '../../lab/controlplane/ports.ts';
import type { Stored } from '../../lab/operator/api.ts';
import { uniqueName } from '../../lab/operator/manifest.ts';
import { giveRight } from '../../lab/operator/rights.ts';
import { type OpenIDProvider, startProvider } from '../../lab/provider/provider.ts';
import { group, labels } from '../../src/api/names.ts';
import { credentialLocks, namespaces } from '../../src/api/resources.ts';
import { type GatewayWorld, gatewayWorld } from '../e2e/gateway/gateway-world.ts';
import { knownHolder } from '../e2e/gateway/known-holder.ts';
import { makeCluster, makeInstance } from '../e2e/targets/target-world.ts';
import { startChromium } from './chromium.ts';

/** `hasClock`: the time of the page is that of `page.clock`. */
type OpenOptions = BrowserContextOptions & { readonly hasClock?: boolean };

export interface PageWorld {
  readonly world: GatewayWorld;
  readonly browser: Browser;
  readonly provider: OpenIDProvider;
  readonly pageURL: string;
  readonly baseURL: string;
  /** Logs in at the provider as this person. */
  readonly person: string;
  readonly project: string;
  readonly instance: string;
  readonly cluster: string;
  /** The page in a browser of its own. Messages of its console that are errors fail the test at the end. */
  open(options?: OpenOptions): Promise<Page>;
  /** The same, after a key of the user was pasted. */
  openAs(
    user: string,
    spec?: object,
    options?: OpenOptions,
  ): Promise<{ page: Page; key: Stored; secret: string }>;
  /** Lets the user into cluster and virtual cluster. */
  letIn(user: string): Promise<void>;
}

/** A gateway with its page, a provider and a browser, all real. Call it at the top of a file. */
export async function startPageWorld(): Promise<PageWorld> {
  const [pagePort, port] = await Promise.all([freePort(), freePort()]);
  // Providers take no loopback address for an https redirect, and browsers look up every name of this kind on loopback.
  const pageURL = `https://keys.localhost:${pagePort}`;
  const baseURL = `https://127.0.0.1:${port}`;
  const guard = await Guard.start('page');
  const person = uniqueName('dana');
  const provider = await startProvider(guard, {
    people: { dana: { preferred_username: person } },
    clients: { latchkey: 600 },
    pages: [pageURL],
  });
  const trusted = {
    issuer: provider.issuer,
    certificateAuthority: provider.ca,
    login: { clientID: 'latchkey', username: { claim: 'preferred_username', prefix: '' } },
  };
  const starting = startChromium();
  const world = await gatewayWorld({
    LATCHKEY_BASE_URL: baseURL,
    LATCHKEY_LISTEN_ADDRESS: `127.0.0.1:${port}`,
    LATCHKEY_PAGE_URL: pageURL,
    LATCHKEY_PAGE_ADDRESS: `127.0.0.1:${pagePort}`,
    LATCHKEY_TARGET_ADDRESSES: '127.0.0.0/8',
    LATCHKEY_TRUSTED_ISSUERS: JSON.stringify([trusted]),
  });
  const browser = await starting;
  const targets = await makeTargets(world);
  afterAll(async () => {
    await browser.close();
    await guard.stop();
  });
  const open: PageWorld['open'] = async ({ hasClock = false, ...options } = {}) => {
    const context = await browser.newContext(options);
    const page = await context.newPage();
    if (hasClock) await page.clock.install();
    page.on('pageerror', (error) => unexpected.push(error.message));
    page.on('console', (message) => {
      if (/Content Security Policy|TrustedHTML/i.test(message.text())) unexpected.push(message.text());
    });
    page.on('response', (answer) => {
      if (isKept(answer)) unexpected.push(`the browser keeps ${answer.url()}`);
    });
    await page.goto(pageURL);
    return page;
  };
  const openAs: PageWorld['openAs'] = async (user, spec = {}, options = {}) => {
    const { object, key } = await knownHolder(world, { user, ...spec });
    const page = await open(options);
    await paste(page, key);
    return { page, key: object, secret: key };
  };
  const letIn = async (user: string) =>
    await giveRight(world.admin, user, {
      apiGroups: [group],
      resources: ['virtualclusterinstances', 'clusters'],
      verbs: ['use'],
    });
  return { world, browser, provider, pageURL, baseURL, person, ...targets, open, openAs, letIn };
}

const unexpected: string[] = [];
/** Errors of scripts, and what the policy of the page refused. */
export const expectNothingUnexpected = () => expect(unexpected.splice(0)).toEqual([]);

/** Whether an answer about credentials is left on the disk of the person. The page asks for locks in a way that keeps none. */
const isKept = (answer: Response) =>
  /\/apis\//.test(answer.url()) &&
  !answer.url().includes(`/${credentialLocks.plural}?`) &&
  answer.headers()['cache-control'] !== 'no-store';

export async function paste(page: Page, key: string): Promise<void> {
  await page.getByLabel('Or paste an access key').fill(key);
  await page.getByRole('button', { name: 'Go on' }).click();
}

/** When the page first shows this, or no longer does, by its own clock: this process may not come to look in time. */
export async function timeOf(
  page: Page,
  change: { readonly shows: string } | { readonly hides: string },
): Promise<() => Promise<number>> {
  const name = uniqueName('seen');
  await page.evaluate(
    ([wanted, place]) => {
      const { promise, resolve } = Promise.withResolvers<number>();
      const check = () => {
        const { innerText } = document.body;
        const isSo = 'shows' in wanted ? innerText.includes(wanted.shows) : !innerText.includes(wanted.hides);
        if (isSo) resolve(Date.now());
      };
      const all = { subtree: true, childList: true, characterData: true, attributes: true };
      new MutationObserver(check).observe(document.body, all);
      Object.assign(globalThis, { [place]: promise });
    },
    [change, name] as const,
  );
  return async () =>
    await page.evaluate(
      (place) => (globalThis as unknown as Record<string, Promise<number>>)[place] ?? Number.NaN,
      name,
    );
}

/** The platform plays a connected cluster and a virtual cluster, too. */
async function makeTargets(world: GatewayWorld) {
  const { admin, plane } = world;
  const project = world.name('web');
  const namespace = `p-${project}`;
  const metadata = { name: namespace, labels: { [labels.project]: project } };
  await admin.createObject(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata });
  const adminKubeConfig = await readFile(
    await plane.kubeconfigFor('virtual-admin', ['system:masters']),
    'utf8',
  );
  const inside = { adminKubeConfig: async () => adminKubeConfig } as Parameters<typeof makeInstance>[1];
  const { cluster } = await makeCluster(world, adminKubeConfig);
  const ingress = { enabled: true, host: 'shop.example.com' };
  const { instance } = await makeInstance(world, inside, {
    namespace,
    name: world.name('shop'),
    spec: { accessPoint: { ingress } },
  });
  await Promise.all([cluster, instance].map(async (one) => await admin.untilReady(one)));
  return { project, instance: instance.metadata.name, cluster: cluster.metadata.name };
}
