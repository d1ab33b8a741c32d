import { readFileSync } from 'node:fs';
import { browse } from '../../../lab/provider/browser.ts';
import { newcomer } from '../../../tools/demo/newcomers.ts';

/** Plays the browser of a reader of the demo, at the page that a command opens. */
const [page = ''] = process.argv.slice(2);
const { NODE_EXTRA_CA_CERTS: authority = '', DANA_PASSWORD: password = '' } = process.env;
await browse(page, readFileSync(authority, 'utf8'), { login: newcomer, password });
