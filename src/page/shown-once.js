import { announce, el } from './dom.js';

/**
 * Shows a key once, with a button that copies it. Nothing keeps it.
 * @param {import('./dialog.js').Dialog} dialog
 * @param {{ title: string, key: string, words?: readonly string[] }} shown
 */
export function shownOnce(dialog, { title, key, words = [] }) {
  const field = el('input', {
    readonly: true,
    value: key,
    id: 'new-key',
    class: 'key',
    autocomplete: 'off',
    spellcheck: 'false',
  });
  const copy = el(
    'button',
    {
      type: 'button',
      class: 'main',
      onclick: async () => {
        field.select();
        await navigator.clipboard.writeText(key).then(
          () => {
            copy.textContent = 'Copied';
            announce('The key is copied.');
          },
          () => announce('Copy it yourself: the browser does not let this page.'),
        );
      },
    },
    'Copy',
  );
  dialog.open(title, [
    el('p', {}, 'It is shown now, and never again. Put it where only its user can read it.'),
    el('label', { for: 'new-key' }, 'Key'),
    el('div', { class: 'copy' }, field, copy),
    ...words.map((text) => el('p', {}, text)),
    el(
      'div',
      { class: 'actions' },
      el('button', { type: 'button', onclick: () => dialog.close() }, 'I have it'),
    ),
  ]);
}
