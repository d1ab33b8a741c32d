/** @typedef {Node | string | undefined | false} Child */

/**
 * Makes an element. Texts become text nodes and attributes are set by name, so nothing that somebody wrote into an object is ever markup.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Readonly<Record<string, unknown>>} [props] `on…`: listeners. `true`: an attribute without a value. `undefined` and `false`: none.
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function el(tag, props = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === 'function')
      made.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else if (value !== undefined && value !== false)
      made.setAttribute(name, value === true ? '' : String(value));
  }
  made.append(...children.filter((child) => child !== undefined && child !== false));
  return made;
}

/**
 * A text that somebody else chose, of any length and direction: it cannot turn around the text beside it.
 * @param {string} text
 * @param {string} [className]
 */
export const untrustedText = (text, className) => el('bdi', { class: className }, clean(text));

/**
 * Without characters that are not seen: they can make one name look like another.
 * @param {string} text
 */
const clean = (text) => text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '\ufffd');

/**
 * For readers of screens alone.
 * @param {string} text
 */
export const unseen = (text) => el('span', { class: 'hidden' }, text);

/** @param {string} id */
export function byID(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`there is no #${id}`);
  return found;
}

/**
 * Tells readers of screens what has changed.
 * @param {string} text
 */
export function announce(text) {
  byID('news').textContent = text;
}
