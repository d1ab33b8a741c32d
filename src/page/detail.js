import { kinds, pathOf, rotateAnnotation } from './api.js';
import { announce, el, untrustedText } from './dom.js';
import { hashOf, toAccessKey } from './key-form.js';
import { stateMark } from './list.js';
import { shownOnce } from './shown-once.js';
import { describeEnd, describeUse, exactTime } from './words.js';

/** @typedef {import('./credentials.js').Credential} Credential */
/** @typedef {import('./workplace.js').Workplace} Workplace */

/** @typedef {Pick<Workplace, 'dialog' | 'credentials'>} View */

/**
 * All about one credential, and what can be done with it.
 * @param {Workplace | View & { readonly isReadOnly: boolean }} place
 * @param {Credential} credential
 */
export function openDetail(place, credential) {
  const { word } = kinds[/** @type {keyof typeof kinds} */ (credential.kind)];
  place.dialog.open(`${word[0]?.toUpperCase()}${word.slice(1)}: ${shortened(credential.name)}`, [
    facts(place, credential),
    'isReadOnly' in place ? undefined : actions(place, credential),
  ]);
}

/** @param {string} text */
const shortened = (text) => (text.length > 60 ? `${text.slice(0, 60)}\u2026` : text);

/**
 * @param {View} place
 * @param {Credential} credential
 */
function facts(place, credential) {
  const now = Date.now();
  const { title, description, reason, message, fix, reach, end, lastUse, created, parent, madeWith, owner } =
    credential;
  const below = place.credentials.below(credential);
  /** @type {[string, import('./dom.js').Child][]} */
  const rows = [
    ['State', stateMark(credential)],
    ['Why', reason !== '' && el('span', {}, `${reason}. `, untrustedText(message))],
    ['What to do', reason !== '' && fix !== '' && fix],
    ['Holder', 'isReadOnly' in place && untrustedText(owner)],
    ['Shown as', title !== credential.name && untrustedText(title)],
    ['Description', description !== '' && untrustedText(description)],
    ['Reaches', untrustedText(reach)],
    ['Ends', describeEnd(end, now) + (end === undefined ? '' : ` (${exactTime(end)})`)],
    ['Last use', credential.kind === 'OwnedAccessKey' && describeUse(lastUse, now)],
    ['Made', created !== undefined && exactTime(created)],
    ['Made with', madeWith !== undefined && untrustedText(madeWith)],
    ['Ends with', parent !== undefined && untrustedText(parent)],
    ['Ends when this ends', below.length > 0 && countOf(below)],
    ['Kept in', credential.inSecret && 'a Secret on the platform'],
  ];
  const shown = rows.filter(([, value]) => value !== false && value !== undefined);
  return el('dl', {}, ...shown.flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]));
}

/** @param {readonly Credential[]} credentials */
export function countOf(credentials) {
  const counts = Object.entries(kinds).flatMap(([kind, { word }]) => {
    const count = credentials.filter((each) => each.kind === kind).length;
    return count === 0 ? [] : [`${count} ${word}${count === 1 ? '' : 's'}`];
  });
  return counts.join(', ').replace(/, ([^,]*)$/, ' and $1');
}

/**
 * @param {Workplace} place
 * @param {Credential} credential
 */
function actions(place, credential) {
  const isKey = credential.kind === 'OwnedAccessKey';
  const isOver = credential.state === 'ended';
  const action = (/** @type {string} */ text, /** @type {() => void} */ onclick, className = '') =>
    el('button', { type: 'button', class: className, onclick }, text);
  return el(
    'div',
    { class: 'actions' },
    isKey && !isOver && action('Rotate', () => confirmRotate(place, credential)),
    isKey &&
      !isOver &&
      (credential.state === 'disabled'
        ? action('Enable', () => confirmEnable(place, credential))
        : action('Disable', () => confirmDisable(place, credential))),
    action('Delete', () => confirmDelete(place, credential), 'danger'),
  );
}

/**
 * A question before something that cannot be taken back.
 * @param {Workplace} place
 * @param {{ title: string, words: readonly string[], action: string, isDanger?: boolean, work: () => Promise<void> }} question
 */
export function confirm(place, { title, words, action, isDanger = true, work }) {
  const button = el(
    'button',
    {
      type: 'button',
      class: isDanger ? 'danger' : 'main',
      onclick: () => void place.dialog.attempt(button, work),
    },
    action,
  );
  const cancel = el('button', { type: 'button', onclick: () => place.dialog.close() }, 'Cancel');
  place.dialog.open(title, [
    ...words.map((text) => el('p', {}, untrustedText(text))),
    el('div', { class: 'actions' }, button, cancel),
  ]);
}

/**
 * Says what ends with a credential.
 * @param {Workplace} place
 * @param {Credential} credential
 */
function consequences(place, credential) {
  const below = place.credentials.below(credential).filter(({ state }) => state !== 'ended');
  const names = below
    .slice(0, 5)
    .map(({ name }) => name)
    .join(', ');
  const more = below.length > 5 ? ' and more' : '';
  return [
    ...(below.length === 0
      ? ['Nothing else that you see here ends with it.']
      : [`With it end ${countOf(below)}: ${names}${more}.`]),
    ...(place.isOwn(credential) || below.some((each) => place.isOwn(each))
      ? ['This page uses it: you are logged out.']
      : []),
  ];
}

/**
 * @param {Workplace} place
 * @param {Credential} credential
 */
function confirmDelete(place, credential) {
  const { word } = kinds[/** @type {keyof typeof kinds} */ (credential.kind)];
  confirm(place, {
    title: `Delete this ${word}?`,
    words: [
      `${shortened(credential.name)} is refused at once, and never comes back.`,
      ...consequences(place, credential),
    ],
    action: 'Delete',
    work: async () => {
      await place.gateway.own(pathOf(credential), { method: 'DELETE' });
      place.credentials.drop(credential.id);
      done(place, `${credential.name} is deleted.`);
    },
  });
}

/**
 * @param {Workplace} place
 * @param {Credential} credential
 */
function confirmDisable(place, credential) {
  confirm(place, {
    title: 'Disable this key?',
    words: [
      `${shortened(credential.name)} is refused at once, until you enable it again.`,
      ...consequences(place, credential).map((text) => text.replace('With it end', 'With it rest')),
    ],
    action: 'Disable',
    work: async () => {
      await place.gateway.own(pathOf(credential), { method: 'PATCH', body: { spec: { disabled: true } } });
      done(place, `${credential.name} is disabled.`);
    },
  });
}

/**
 * @param {Workplace} place
 * @param {Credential} credential
 */
function confirmEnable(place, credential) {
  confirm(place, {
    title: 'Enable this key?',
    words: [
      `${shortened(credential.name)} works again, with all that is below it. Everyone who has it can use it.`,
    ],
    action: 'Enable',
    isDanger: false,
    work: async () => {
      await place.gateway.own(pathOf(credential), { method: 'PATCH', body: { spec: { disabled: false } } });
      done(place, `${credential.name} works again.`);
    },
  });
}

/**
 * @param {Workplace} place
 * @param {Credential} credential
 */
function confirmRotate(place, credential) {
  confirm(place, {
    title: 'Give it a new key?',
    words: [
      `The old key of ${shortened(credential.name)} is refused at once. Everyone who uses it needs the new one.`,
      'Everything below it keeps working.',
    ],
    action: 'Rotate',
    work: async () => {
      if (credential.inSecret) {
        const metadata = { annotations: { [rotateAnnotation]: new Date().toISOString() } };
        await place.gateway.own(pathOf(credential), { method: 'PATCH', body: { metadata } });
        return done(place, `The new key of ${credential.name} goes to its Secret.`);
      }
      const key = toAccessKey(crypto.getRandomValues(new Uint8Array(32)));
      const body = { spec: { key: await hashOf(key) } };
      await place.gateway.own(pathOf(credential), { method: 'PATCH', body });
      if (place.isOwn(credential)) place.useKey(key);
      shownOnce(place.dialog, { title: `The new key of ${shortened(credential.name)}`, key });
    },
  });
}

/**
 * @param {Workplace} place
 * @param {string} text
 */
function done(place, text) {
  place.dialog.close();
  place.changed();
  announce(text);
}
