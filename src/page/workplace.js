import { pathOf } from './api.js';
import { Credentials, matches } from './credentials.js';
import { confirm, countOf, openDetail } from './detail.js';
import { Dialog } from './dialog.js';
import { announce, byID, el, untrustedText } from './dom.js';
import { Everyone, maySeeEveryone } from './everyone.js';
import { openKubeconfig } from './kubeconfig.js';
import { List } from './list.js';
import { Live } from './live.js';
import { openMakeKey } from './make-key.js';
import { describeEnd } from './words.js';

/** @typedef {import('./credentials.js').Credential} Credential */

/** What a person sees who is logged in. */
export class Workplace {
  credentials = new Credentials();
  dialog = new Dialog();
  gateway;
  self;
  #ended = new AbortController();
  #list = new List({
    label: 'Your credentials',
    onOpen: (credential) => openDetail(this, credential),
    signal: this.#ended.signal,
  });
  #live;
  #onLeave;
  /** Whether the login of this page made its key: it ends with the page. */
  #isLogin;
  #filter = el('input', { id: 'filter', type: 'search', autocomplete: 'off', oninput: () => this.changed() });
  #count = el('p', { class: 'count' });
  #cut = el('p', { class: 'cut', role: 'alert', hidden: true });
  /** Hidden until it is known that this person may look. */
  #everyone = el(
    'button',
    { type: 'button', hidden: true, onclick: () => this.#showEveryone() },
    'Everyone\u2019s credentials',
  );
  /** @type {Everyone | undefined} */
  #other;
  #isEmptyKnown = false;
  #isEveryoneKnown = false;

  /**
   * @param {{ gateway: import('./api.js').Gateway, self: import('./api.js').Json, isLogin: boolean, onLeave: (why?: string) => void }} options
   */
  constructor({ gateway, self, isLogin, onLeave }) {
    this.gateway = gateway;
    this.self = self;
    this.#isLogin = isLogin;
    this.#onLeave = onLeave;
    this.#showTop();
    this.#showOwn();
    this.#live = this.#follow();
    // Also so that the browser knows that it may send a DELETE there: a tab that goes has no time to ask, and reads keep that fresh.
    void gateway.own(this.#ownPath()).catch(() => undefined);
  }

  /** Asked again until it is known, each time that the page is up to date. */
  async #askForEveryone() {
    if (this.#isEveryoneKnown) return;
    this.#isEveryoneKnown = true;
    const may = await maySeeEveryone(this.gateway).catch(() => undefined);
    if (may === undefined) this.#isEveryoneKnown = false;
    else this.#everyone.hidden = !may;
  }

  #follow() {
    return new Live({
      gateway: this.gateway,
      ownPath: this.#ownPath(),
      credentials: this.credentials,
      onChange: () => this.changed(),
      onCut: (problem) => this.#onCut(problem),
      onRefused: (refused) => this.leave(`Your key is not accepted any more: ${refused.message}`),
    });
  }

  #showTop() {
    const end = this.#ownEnd();
    byID('top').replaceChildren(
      el('h1', {}, 'Latchkey'),
      el(
        'p',
        { class: 'who' },
        'You are ',
        untrustedText(String(this.self['subject'] ?? '')),
        end === undefined ? '. Your key has no end.' : `. Your key ends ${describeEnd(end, Date.now())}.`,
      ),
      el('button', { type: 'button', onclick: () => this.logOut() }, this.#isLogin ? 'Log out' : 'Leave'),
    );
  }

  #showOwn() {
    byID('main').replaceChildren(
      this.#cut,
      el(
        'div',
        { class: 'tools' },
        el('div', { class: 'filter' }, el('label', { for: 'filter' }, 'Find'), this.#filter),
        el('button', { type: 'button', class: 'main', onclick: () => openMakeKey(this) }, 'Make a key'),
        el('button', { type: 'button', onclick: () => openKubeconfig(this) }, 'Get a kubeconfig'),
        this.#everyone,
      ),
      this.#count,
      this.#list.element,
      this.dialog.element,
    );
    this.changed();
  }

  #showEveryone() {
    this.#other = new Everyone(this, () => this.#showOwn());
  }

  #ownEnd() {
    const end = Date.parse(this.self['expirationTimestamp'] ?? '');
    return Number.isNaN(end) ? undefined : end;
  }

  /** Shows what has changed. */
  changed() {
    const text = this.#filter.value.trim().toLowerCase();
    const { rows } = this.credentials;
    const found = text === '' ? rows : rows.filter(({ credential }) => matches(credential, text));
    this.#list.show(found);
    const count = found.length === rows.length ? `${rows.length}` : `${found.length} of ${rows.length}`;
    if (rows.length > 0) this.#count.textContent = `${count} credential${rows.length === 1 ? '' : 's'}`;
    else
      this.#count.textContent = this.#isEmptyKnown
        ? 'You have no credentials yet. Make a key.'
        : 'Reading \u2026';
  }

  /** @param {string | undefined} problem */
  #onCut(problem) {
    const wasCut = !this.#cut.hidden;
    this.#cut.hidden = problem === undefined;
    this.#cut.textContent = problem === undefined ? '' : `Cut off: what you see may be old. ${problem}`;
    if (problem === undefined) {
      this.#isEmptyKnown = true;
      void this.#askForEveryone();
      this.changed();
      if (wasCut) announce('Up to date again.');
    }
  }

  /**
   * Whether this page speaks with this key.
   * @param {Credential} credential
   */
  isOwn({ kind, name }) {
    return kind === 'OwnedAccessKey' && this.self['credential']?.name === name;
  }

  /** @param {string} key The new one of the access key that the page speaks with. */
  useKey(key) {
    this.gateway = this.gateway.as(key);
    this.#live.stop();
    this.#live = this.#follow();
  }

  refresh() {
    return this.#live.refresh();
  }

  #ownKey() {
    return [...this.credentials.rows].map(({ credential }) => credential).find((each) => this.isOwn(each));
  }

  #ownPath() {
    return pathOf({ kind: 'OwnedAccessKey', namespace: '', name: this.self['credential'].name });
  }

  /** Ends the key of a login; another key is forgotten only. */
  logOut() {
    if (!this.#isLogin) return this.leave();
    const own = this.#ownKey();
    const below =
      own === undefined ? [] : this.credentials.below(own).filter(({ state }) => state === 'live');
    if (below.length === 0) return void this.#endLogin();
    confirm(this, {
      title: 'Log out?',
      words: [
        `The key of this login ends, and with it ${countOf(below)} that you made here: ${below
          .slice(0, 5)
          .map(({ name }) => name)
          .join(', ')}.`,
      ],
      action: 'Log out',
      work: async () => await this.#endLogin(),
    });
  }

  async #endLogin() {
    const { gateway } = this;
    // First: it is gone from here whatever the gateway says.
    this.leave();
    await gateway.own(this.#ownPath(), { method: 'DELETE', keepalive: true }).catch((error) => {
      if (error.status !== 401 && error.status !== 404)
        announce(`The key is forgotten here, and lives on: ${error.message}`);
    });
  }

  /** The tab goes: its key ends, unless something that was made with it would end too. */
  abandon() {
    const own = this.#ownKey();
    if (!this.#isLogin || own === undefined || this.credentials.below(own).length > 0) return;
    void this.gateway.own(this.#ownPath(), { method: 'DELETE', keepalive: true }).catch(() => undefined);
  }

  /** @param {string} [why] */
  leave(why) {
    this.#live.stop();
    this.#ended.abort();
    this.#other?.stop();
    this.dialog.close();
    this.#onLeave(why);
  }
}
