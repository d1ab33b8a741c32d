import { Gateway } from './api.js';
import { announce, byID, el } from './dom.js';
import { beginLogin, findProviders, finishLogin } from './login.js';
import { Workplace } from './workplace.js';

const baseURL = document.querySelector('meta[name="base-url"]')?.getAttribute('content') ?? '';
const gateway = new Gateway(baseURL);
/** @type {Workplace | undefined} */
let workplace;

/** @param {unknown} error */
const wordsOf = (error) => (error instanceof Error ? error.message : String(error));

/**
 * @param {string} key
 * @param {boolean} isLogin
 */
async function enter(key, isLogin) {
  const own = gateway.as(key);
  const self = await own.self();
  if (self['credential']?.kind !== 'OwnedAccessKey')
    throw new Error('This is no access key. Tokens and kubeconfigs cannot see the others.');
  workplace = new Workplace({ gateway: own, self, isLogin, onLeave: showLogin });
}

/** @param {string} [why] */
function showLogin(why) {
  workplace = undefined;
  const problem = el('p', { class: 'problem', role: 'alert', hidden: why === undefined }, why);
  const attempt = async (/** @type {() => Promise<void>} */ work) => {
    try {
      await work();
    } catch (error) {
      problem.textContent = wordsOf(error);
      problem.hidden = false;
    }
  };
  const providers = el('div', { class: 'providers' });
  const field = el('input', {
    id: 'key',
    type: 'password',
    autocomplete: 'off',
    required: true,
    spellcheck: 'false',
  });
  let isEntering = false;
  const submit = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    // Twice in a row would open two of them, and one would go on unseen.
    if (isEntering) return;
    const key = field.value.trim();
    field.value = '';
    isEntering = true;
    problem.hidden = true;
    await attempt(async () => await enter(key, false));
    isEntering = false;
  };
  byID('top').replaceChildren(el('h1', {}, 'Latchkey'));
  byID('main').replaceChildren(
    el(
      'div',
      { class: 'login' },
      el('h2', {}, 'See and end your keys'),
      problem,
      providers,
      el(
        'form',
        { onsubmit: submit },
        el('label', { for: 'key' }, 'Or paste an access key'),
        el('div', { class: 'copy' }, field, el('button', { type: 'submit' }, 'Go on')),
      ),
      el('p', { class: 'hint' }, 'The key stays in this tab, and is gone when you close it.'),
    ),
  );
  void attempt(async () => await offer(providers, attempt));
  if (why !== undefined) announce(why);
}

/**
 * @param {HTMLElement} place
 * @param {(work: () => Promise<void>) => Promise<void>} attempt
 */
async function offer(place, attempt) {
  const found = await findProviders(gateway);
  const button = (/** @type {import('./login.js').Provider} */ provider) => {
    const { host } = new URL(provider.issuer);
    const onclick = () => attempt(async () => await beginLogin(provider));
    return el('button', { type: 'button', class: 'main', onclick }, `Log in at ${host}`);
  };
  place.replaceChildren(...found.map(button));
}

addEventListener('pagehide', () => workplace?.abandon());
// From the cache of the browser: the key may have ended when the page was left.
addEventListener('pageshow', (event) => {
  if (event.persisted) location.reload();
});

try {
  const key = await finishLogin(gateway);
  if (key === undefined) showLogin();
  else await enter(key, true);
} catch (error) {
  showLogin(wordsOf(error));
}
