import { kinds, Refused } from './api.js';
import { Credentials, matches, toCredential } from './credentials.js';
import { openDetail } from './detail.js';
import { announce, byID, el, untrustedText } from './dom.js';
import { List } from './list.js';
import { describeEnd } from './words.js';

/** @typedef {import('./credentials.js').Credential} Credential */
/** @typedef {import('./workplace.js').Workplace} Workplace */

/** More would fill the memory of the tab. */
const maxShown = 20_000;
/** Between two times that what came is sorted and shown. */
const showMs = 250;
const weekMs = 7 * 86_400_000;

/** What administrators look for. @type {readonly (readonly [text: string, fits: (each: Credential, now: number) => boolean])[]} */
const questions = [
  ['all', () => true],
  ['what ends this week', ({ state, end = Infinity }, now) => state === 'live' && end < now + weekMs],
  ['what has no end', ({ state, end }) => state === 'live' && end === undefined],
  [
    'keys that were never used',
    ({ kind, state, lastUse }) => kind === 'OwnedAccessKey' && state === 'live' && lastUse === undefined,
  ],
  ['what a lock stops', ({ state }) => state === 'locked'],
];

/**
 * Whether this person may look at the credentials of all. The API server of the platform says so, at each page again.
 * @param {import('./api.js').Gateway} gateway
 */
export async function maySeeEveryone(gateway) {
  const path = `${kinds.OwnedAccessKey.plural}?everyone=true&limit=1`;
  return await gateway.own(path).then(
    () => true,
    (error) => {
      if (error instanceof Refused && error.status !== 0 && error.status < 429) return false;
      throw error;
    },
  );
}

/** Who holds what, for administrators. It is read once, and nothing here changes anything. */
export class Everyone {
  isReadOnly = true;
  credentials = new Credentials();
  dialog;
  #gateway;
  #ended = new AbortController();
  #list = new List({
    label: 'Credentials of everyone',
    hasOwners: true,
    onOpen: (credential) => openDetail(this, credential),
    signal: this.#ended.signal,
  });
  #shownAt = 0;
  #filter = el('input', { id: 'filter', type: 'search', autocomplete: 'off', oninput: () => this.#show() });
  #question = el(
    'select',
    { id: 'question', onchange: () => this.#show() },
    ...questions.map(([text], index) => el('option', { value: index }, text)),
  );
  #count = el('p', { class: 'count' }, 'Reading \u2026');
  #problem = el('p', { class: 'problem', role: 'alert', hidden: true });
  #locks = el('section', { hidden: true });

  /**
   * @param {Workplace} place
   * @param {() => void} onBack
   */
  constructor({ gateway, dialog }, onBack) {
    this.#gateway = gateway;
    this.dialog = dialog;
    const back = () => {
      this.stop();
      onBack();
    };
    const heading = el('h2', { tabindex: '-1' }, 'Credentials of everyone');
    byID('main').replaceChildren(
      heading,
      this.#problem,
      el(
        'div',
        { class: 'tools' },
        el('div', { class: 'filter' }, el('label', { for: 'filter' }, 'Find'), this.#filter),
        el('div', { class: 'filter' }, el('label', { for: 'question' }, 'Show'), this.#question),
        el('button', { type: 'button', onclick: back }, 'Back to your own'),
      ),
      this.#locks,
      this.#count,
      this.#list.element,
      dialog.element,
    );
    heading.focus();
    void this.#read();
  }

  stop() {
    this.#ended.abort();
  }

  async #read() {
    const { signal } = this.#ended;
    /** @type {string[]} */
    const problems = [];
    const note = (/** @type {Error} */ error) => void problems.push(error.message);
    await Promise.all([
      ...Object.entries(kinds).map(([kind, { plural }]) => this.#readKind(kind, plural).catch(note)),
      this.#readLocks().catch((error) => {
        // One who may not see locks sees a view without them.
        if (!(error instanceof Refused) || error.status !== 403) note(error);
      }),
    ]);
    if (signal.aborted) return;
    this.#problem.textContent = problems.join(' ');
    this.#problem.hidden = problems.length === 0;
    this.#show();
    announce(this.#count.textContent ?? '');
  }

  /**
   * @param {string} kind
   * @param {string} plural
   */
  async #readKind(kind, plural) {
    const { signal } = this.#ended;
    await this.#gateway.list(plural, {
      query: '&everyone=true',
      signal,
      onPage: (items) => {
        for (const item of items)
          this.credentials.put(toCredential(item, kind, 'all that its holder may reach'));
        if (this.credentials.size > maxShown)
          throw new Error(`There are more than ${maxShown} credentials, and the rest is not shown.`);
        if (performance.now() - this.#shownAt > showMs) this.#show();
      },
    });
  }

  async #readLocks() {
    const { signal } = this.#ended;
    /** @type {import('./api.js').Json[]} */
    const locks = [];
    await this.#gateway.list('credentiallocks', {
      signal,
      // The API server answers, and browsers would keep that.
      cache: 'no-store',
      onPage: (items) => void locks.push(...items),
    });
    this.#locks.hidden = locks.length === 0;
    this.#locks.replaceChildren(
      el('h3', {}, 'Locks'),
      el('ul', { class: 'locks' }, ...locks.map((lock) => el('li', {}, ...describeLock(lock)))),
    );
  }

  #show() {
    const now = Date.now();
    this.#shownAt = performance.now();
    const text = this.#filter.value.trim().toLowerCase();
    const [, fits] = questions[Number(this.#question.value)] ?? [undefined, () => true];
    const { rows } = this.credentials;
    const found = rows.filter(({ credential }) => fits(credential, now) && matches(credential, text));
    this.#list.show(found);
    this.#count.textContent = `${found.length} of ${rows.length} credentials`;
  }
}

/** @param {import('./api.js').Json} lock */
function describeLock({ metadata = {}, spec = {}, status = {} }) {
  const end = Date.parse(spec.expirationTimestamp ?? '');
  const rest = [
    status.stoppedCredentials === undefined ? '' : `${status.stoppedCredentials} stopped`,
    status.state === 'Ready' ? 'in force' : String(status.state ?? 'not confirmed yet'),
    Number.isNaN(end) ? 'no end' : `ends ${describeEnd(end, Date.now())}`,
  ];
  return [
    el('strong', {}, untrustedText(String(metadata.name))),
    ' stops ',
    untrustedText(String(status.stops ?? '\u2026')),
    ` (${rest.filter((part) => part !== '').join(', ')})`,
    spec.reason ? el('span', {}, ': ', untrustedText(String(spec.reason))) : '',
  ];
}
