import { findChromium } from './chromium.ts';

// For .ci/run, and for people: prints where the tests of the page find their browser, or fails with what to install.
console.log(findChromium());
