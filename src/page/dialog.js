import { el } from './dom.js';

/** One dialog at a time. The back button closes it, as Escape does. */
export class Dialog {
  #heading = el('h2', { id: 'dialog-title', tabindex: '-1' });
  #content = el('div', { class: 'content' });
  #problem = el('p', { class: 'problem', role: 'alert', hidden: true });
  element = el(
    'dialog',
    { 'aria-labelledby': 'dialog-title' },
    el(
      'button',
      { type: 'button', class: 'close', 'aria-label': 'Close', onclick: () => this.close() },
      '\u00d7',
    ),
    this.#heading,
    this.#problem,
    this.#content,
  );
  /** @type {() => void} */
  #onClosed = () => undefined;

  constructor() {
    this.element.addEventListener('cancel', (event) => {
      event.preventDefault();
      this.close();
    });
    addEventListener('popstate', () => this.#end());
  }

  /**
   * @param {string} title
   * @param {readonly import('./dom.js').Child[]} content
   * @param {() => void} [onClosed]
   */
  open(title, content, onClosed = () => undefined) {
    this.#onClosed = onClosed;
    this.#heading.textContent = title;
    this.#problem.hidden = true;
    this.#content.replaceChildren(...content.filter((child) => child !== undefined && child !== false));
    if (!this.element.open) {
      history.pushState({ dialog: true }, '');
      this.element.showModal();
    }
    this.#heading.focus();
  }

  close() {
    if (history.state?.dialog === true) history.back();
    else this.#end();
  }

  #end() {
    if (!this.element.open) return;
    // What was shown once is in no element from now on.
    this.#content.replaceChildren();
    this.element.close();
    this.#onClosed();
  }

  /**
   * Does something with the gateway, and shows why it could not be done.
   * @param {HTMLButtonElement} button
   * @param {() => Promise<void>} work
   */
  async attempt(button, work) {
    button.disabled = true;
    this.#problem.hidden = true;
    try {
      await work();
    } catch (error) {
      this.#problem.textContent = error instanceof Error ? error.message : String(error);
      this.#problem.hidden = false;
      this.#problem.scrollIntoView({ block: 'nearest' });
    } finally {
      button.disabled = false;
    }
  }
}
