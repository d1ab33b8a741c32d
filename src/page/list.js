import { kinds } from './api.js';
import { el, unseen, untrustedText } from './dom.js';
import { describeEnd, describeUse } from './words.js';

/** @typedef {import('./credentials.js').Credential} Credential */
/** @typedef {{ readonly credential: Credential, readonly depth: number }} Row */

/** Rows above and below what is seen, so that the Tab key finds the next one. */
const spare = 8;
const maxFrameMs = 100;
const stateWords = {
  live: 'works',
  ended: 'ended',
  disabled: 'disabled',
  locked: 'locked',
  waiting: 'not confirmed yet',
  refused: 'refused',
};

/**
 * The state in a word, with a sign that needs no colour.
 * @param {Credential} credential
 */
export const stateMark = ({ state }) => el('span', { class: `state ${state}` }, stateWords[state]);

/** A list of any length. Only rows that can be seen are in the document. */
export class List {
  element;
  /** @type {readonly Row[]} */
  #rows = [];
  /** @type {Map<string, { readonly item: HTMLElement, text: string }>} */
  #shown = new Map();
  #options;
  #rowHeight = 0;
  #isPlanned = false;

  /** @param {{ label: string, hasOwners?: boolean, onOpen: (credential: Credential) => void, signal: AbortSignal }} options `signal`: aborts when the list is not shown any more */
  constructor(options) {
    this.#options = options;
    this.element = el('ul', { class: 'keys', 'aria-label': options.label });
    const plan = () => this.#plan();
    // Listeners of the window would keep the list, and with it all credentials and the key, for as long as the tab lives.
    const { signal } = options;
    addEventListener('scroll', plan, { passive: true, signal });
    const onResize = () => {
      this.#rowHeight = 0;
      plan();
    };
    addEventListener('resize', onResize, { signal });
    this.element.addEventListener('keydown', (event) => this.#onKey(event));
  }

  /** @param {readonly Row[]} rows */
  show(rows) {
    this.#rows = rows;
    this.#plan();
  }

  /** Before the next frame. A window behind others may have none for a second, so a timer comes first there. */
  #plan() {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    const draw = () => {
      if (!this.#isPlanned) return;
      this.#isPlanned = false;
      if (this.element.isConnected) this.#draw();
    };
    requestAnimationFrame(draw);
    setTimeout(draw, maxFrameMs);
  }

  #draw() {
    if (this.#rowHeight === 0) this.#rowHeight = this.#measure();
    const height = this.#rowHeight;
    this.element.style.setProperty('block-size', `${height * this.#rows.length}px`);
    const top = -this.element.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(top / height) - spare);
    const last = Math.min(this.#rows.length, Math.ceil((top + innerHeight) / height) + spare);
    const focused = this.#focusedIndex();
    const wanted = this.#rows.slice(first, last).map((row, index) => ({ row, index: first + index }));
    const far = focused === -1 || (focused >= first && focused < last) ? undefined : this.#rows[focused];
    if (far !== undefined) {
      if (focused < first) wanted.unshift({ row: far, index: focused });
      else wanted.push({ row: far, index: focused });
    }
    this.#place(wanted, height);
  }

  /**
   * Leaves rows where they are that stay: one that is moved loses the focus.
   * @param {readonly { row: Row, index: number }[]} wanted
   * @param {number} height
   */
  #place(wanted, height) {
    const kept = new Set(wanted.map(({ row }) => row.credential.id));
    for (const [id, { item }] of this.#shown) {
      if (kept.has(id)) continue;
      item.remove();
      this.#shown.delete(id);
    }
    /** @type {ChildNode | null} */
    let next = this.element.firstChild;
    for (const { row, index } of wanted) {
      const item = this.#itemFor(row);
      item.style.setProperty('transform', `translateY(${index * height}px)`);
      item.setAttribute('aria-posinset', String(index + 1));
      item.setAttribute('aria-setsize', String(this.#rows.length));
      if (item === next) next = item.nextSibling;
      else this.element.insertBefore(item, next);
    }
  }

  /** @param {Row} row */
  #itemFor({ credential, depth }) {
    const now = Date.now();
    const end = describeEnd(credential.end, now);
    const use = credential.kind === 'OwnedAccessKey' ? describeUse(credential.lastUse, now) : 'not recorded';
    const { id, title, state, reach, reason, madeWith, owner } = credential;
    const { hasOwners = false, onOpen } = this.#options;
    const text = JSON.stringify([title, state, reach, end, use, reason, madeWith, depth]);
    const former = this.#shown.get(id);
    if (former?.text === text) return former.item;
    const item = former?.item ?? el('li');
    item.className = `row ${state}`;
    item.style.setProperty('--depth', String(Math.min(depth, 5)));
    const { word } = kinds[/** @type {keyof typeof kinds} */ (credential.kind)];
    const isFocused = item.contains(document.activeElement);
    const button = el('button', { type: 'button', class: 'name', onclick: () => onOpen(credential) });
    button.append(untrustedText(title.slice(0, 300)));
    item.replaceChildren(
      stateMark(credential),
      el(
        'span',
        { class: 'title' },
        button,
        el(
          'small',
          {},
          word,
          hasOwners && owner !== '' && ' of ',
          hasOwners && owner !== '' && untrustedText(owner),
          depth > 0 && ', ends with ',
          depth > 0 && untrustedText(credential.parent ?? ''),
        ),
      ),
      el('span', { class: 'reach' }, unseen('Reaches '), untrustedText(reach.slice(0, 300))),
      el(
        'span',
        { class: 'end' },
        el('span', { class: 'label' }, state === 'ended' ? 'Ended ' : 'Ends '),
        end,
      ),
      el('span', { class: 'use' }, el('span', { class: 'label' }, 'Last use '), use),
    );
    if (isFocused) button.focus();
    this.#shown.set(id, { item, text });
    return item;
  }

  #measure() {
    const probe = el('li', { class: 'row', 'aria-hidden': 'true' });
    this.element.append(probe);
    const { height } = probe.getBoundingClientRect();
    probe.remove();
    return height || 64;
  }

  #focusedIndex() {
    const item = document.activeElement?.closest('li.row');
    for (const [id, shown] of this.#shown)
      if (shown.item === item) return this.#rows.findIndex(({ credential }) => credential.id === id);
    return -1;
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const steps = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity };
    const step = steps[/** @type {keyof typeof steps} */ (event.key)];
    const at = this.#focusedIndex();
    if (step === undefined || at === -1) return;
    event.preventDefault();
    this.focus(Math.max(0, Math.min(this.#rows.length - 1, at + step)));
  }

  /** @param {number} index */
  focus(index) {
    const id = this.#rows[index]?.credential.id;
    if (id === undefined) return;
    const top = this.element.getBoundingClientRect().top + scrollY + index * this.#rowHeight;
    const isSeen = top > scrollY + this.#rowHeight && top < scrollY + innerHeight - 2 * this.#rowHeight;
    if (!isSeen) scrollTo({ top: top - innerHeight / 2 });
    this.#draw();
    this.#shown.get(id)?.item.querySelector('button')?.focus({ preventScroll: true });
  }
}
