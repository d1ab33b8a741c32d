import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

/** Where Linux distributions put it. */
const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** The Chromium of the system: the downloads of playwright are not used. @throws Error that says what to install. */
export function findChromium(): string {
  const found = process.env['CHROMIUM'] ?? places.find((place) => existsSync(place));
  if (found === undefined)
    throw new Error('no Chromium is here: apt-get install chromium, or name one in CHROMIUM');
  return found;
}

export const startChromium = async (): Promise<Browser> =>
  await chromium.launch({
    executablePath: findChromium(),
    args: [
      // Within a container there is no room for its sandbox. It shows nothing but pages of this test.
      ...['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
      // `ignoreHTTPSErrors` would refuse each new connection first, and for good what a tab that goes has still to send.
      '--ignore-certificate-errors',
    ],
  });
