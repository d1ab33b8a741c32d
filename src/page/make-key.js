import { kinds } from './api.js';
import { toCredential } from './credentials.js';
import { announce, el, untrustedText } from './dom.js';
import { shownOnce } from './shown-once.js';
import { describeEnd } from './words.js';

/** @typedef {import('./api.js').Json} Json */
/** @typedef {import('./workplace.js').Workplace} Workplace */

const lives = /** @type {const} */ ([
  ['15 minutes', 900],
  ['1 hour', 3_600],
  ['8 hours', 28_800],
  ['1 day', 86_400],
  ['30 days', 2_592_000],
  ['90 days', 7_776_000],
  ['no end', 0],
]);

/** What an agent may look at: no Secret is among it, and a scope allows only what it names. */
const readable = [
  {
    group: '',
    resources: [
      ...['pods', 'pods/log', 'services', 'endpoints', 'events', 'configmaps', 'namespaces', 'nodes'],
      ...['persistentvolumeclaims', 'persistentvolumes', 'replicationcontrollers', 'serviceaccounts'],
    ],
  },
  ...[
    'apps',
    'autoscaling',
    'batch',
    'discovery.k8s.io',
    'events.k8s.io',
    'metrics.k8s.io',
    'networking.k8s.io',
    'policy',
  ].map((group) => ({ group, resources: ['*'] })),
];

/** @param {Workplace} place */
export function openMakeKey(place) {
  const kind = kindChoice();
  const name = el('input', { id: 'purpose', autocomplete: 'off', maxlength: '200' });
  const life = el(
    'select',
    { id: 'life' },
    ...lives.map(([text, ttl]) => el('option', { value: ttl }, text)),
  );
  life.value = '86400';
  const isReadOnly = el('input', { id: 'read-only', type: 'checkbox' });
  const choice = reachChoice(place, isReadOnly);
  const submit = el('button', { type: 'submit', class: 'main' }, 'Make the key');
  const agent = el(
    'button',
    {
      type: 'button',
      onclick: () => {
        life.value = '900';
        isReadOnly.checked = true;
        choice.onlySome();
        announce('15 minutes, and only reading. Choose what it reaches.');
      },
    },
    'For an agent: minutes, and only reading',
  );
  const onsubmit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    void place.dialog.attempt(submit, async () => {
      const ttl = Number(life.value);
      const scope = choice.scope();
      await make(place, kind.value(), {
        // A token has no name for people.
        ...(name.value === '' || kind.value() !== 'OwnedAccessKey' ? {} : { displayName: name.value }),
        ...(ttl === 0 ? {} : { ttl }),
        ...(scope === undefined ? {} : { scope }),
      });
    });
  };
  const end = Date.parse(place.self['expirationTimestamp'] ?? '');
  place.dialog.open('Make a key', [
    el(
      'form',
      { onsubmit },
      agent,
      kind.element,
      el('label', { for: 'purpose' }, 'What it is for'),
      name,
      el('label', { for: 'life' }, 'Ends after'),
      life,
      !Number.isNaN(end) &&
        el(
          'p',
          { class: 'hint' },
          `It ends with the key of this page, ${describeEnd(end, Date.now())}, or earlier.`,
        ),
      choice.element,
      el('div', { class: 'actions' }, submit),
    ),
  ]);
}

const makeable = /** @type {const} */ (['OwnedAccessKey', 'DirectClusterEndpointToken']);

/** Nearly all want a key: it makes tokens, too, and can be rotated and disabled. */
function kindChoice() {
  const isToken = el('input', { id: 'is-token', type: 'checkbox' });
  const label = el(
    'label',
    { for: 'is-token' },
    'a token for direct endpoints of clusters, in place of a key',
  );
  return {
    element: el('div', { class: 'check' }, isToken, label),
    value: () => makeable[isToken.checked ? 1 : 0],
  };
}

/**
 * @param {Workplace} place
 * @param {(typeof makeable)[number]} kind
 * @param {Json} spec
 */
async function make(place, kind, spec) {
  const { plural, word } = kinds[kind];
  if (kind !== 'OwnedAccessKey' && spec['ttl'] === undefined)
    throw new Error('A token has an end: choose one.');
  const made = await place.gateway.own(plural, { method: 'POST', body: { spec } });
  // At once: a tab that closes ends its own key only where it knows of nothing below that.
  place.credentials.put(toCredential(made, kind));
  place.changed();
  const key = kind === 'OwnedAccessKey' ? made['spec'].key : made['status']?.token;
  const { name } = made['metadata'];
  if (typeof key !== 'string' || key.startsWith('sha256:'))
    throw new Error(`${name} was made, and its ${word} was not shown. Delete it.`);
  shownOnce(place.dialog, { title: `Your new ${word}`, key, words: [`Its name is ${name}.`] });
}

/** @typedef {{ kind: string, project?: string, name: string }} Target */

/**
 * @param {Workplace} place
 * @param {HTMLInputElement} isReadOnly
 */
function reachChoice(place, isReadOnly) {
  const all = el('input', { type: 'radio', name: 'reach', id: 'reach-all', checked: true });
  const some = el('input', { type: 'radio', name: 'reach', id: 'reach-some' });
  const boxes = el(
    'div',
    { class: 'targets', tabindex: '0', role: 'group', 'aria-label': 'What it reaches' },
    'Reading \u2026',
  );
  /** @type {{ box: HTMLInputElement, target: Target }[]} */
  let offered = [];
  const update = () => {
    boxes.hidden = !some.checked;
    for (const { box, target } of offered) box.disabled = isReadOnly.checked && !canBeRead(target);
  };
  const onlySome = () => {
    some.checked = true;
    update();
  };
  for (const input of [all, some, isReadOnly]) input.addEventListener('change', update);
  isReadOnly.addEventListener('change', () => isReadOnly.checked && onlySome());
  void readTargets(place).then(
    (targets) => {
      offered = targets.map((target, index) => ({
        target,
        box: el('input', { type: 'checkbox', id: `target-${index}` }),
      }));
      boxes.replaceChildren(
        ...offered.map(({ box, target }) =>
          el('div', { class: 'check' }, box, el('label', { for: box.id }, untrustedText(nameOf(target)))),
        ),
      );
      if (offered.length === 0) boxes.textContent = 'You may use no target yet.';
      update();
    },
    (error) => {
      boxes.textContent = error.message;
    },
  );
  const scope = () => {
    const chosen = offered.filter(({ box }) => box.checked && !box.disabled).map(({ target }) => target);
    if (all.checked && !isReadOnly.checked) return undefined;
    if (chosen.length === 0) throw new Error('Choose what the key reaches.');
    const prefix = String(place.self['projectNamespacePrefix'] ?? '');
    return isReadOnly.checked ? readOnlyScope(chosen, prefix) : wholeScope(chosen);
  };
  const element = el(
    'fieldset',
    {},
    el('legend', {}, 'It reaches'),
    el(
      'div',
      { class: 'check' },
      all,
      el('label', { for: 'reach-all' }, 'all that this page\u2019s key reaches'),
    ),
    el('div', { class: 'check' }, some, el('label', { for: 'reach-some' }, 'only what I choose')),
    boxes,
    el(
      'div',
      { class: 'check' },
      isReadOnly,
      el('label', { for: 'read-only' }, 'only reading, and never Secrets'),
    ),
  );
  update();
  return { element, onlySome, scope };
}

/**
 * @param {Workplace} place
 * @returns {Promise<readonly Target[]>} Projects, and what is in them.
 */
async function readTargets(place) {
  const { targets = [] } = await place.gateway.self({ targets: true });
  const projects = [...new Set(targets.map((/** @type {Target} */ { project }) => project))].filter(Boolean);
  return [...projects.map((project) => ({ kind: 'Project', name: project })), ...targets];
}

/** @param {Target} target */
const canBeRead = ({ kind }) => kind === 'Cluster' || kind === 'VirtualClusterInstance';

/** @param {Target} target */
const nameOf = ({ kind, project, name }) => {
  const words = { Project: 'everything in project', Cluster: 'cluster', SpaceInstance: 'space' };
  const word = words[/** @type {keyof typeof words} */ (kind)] ?? 'virtual cluster';
  return `${word} ${project ? `${project}/${name}` : name}`;
};

/**
 * @param {readonly Target[]} chosen
 * @returns {Json}
 */
export function wholeScope(chosen) {
  const of = (/** @type {string} */ kind) => chosen.filter((target) => target.kind === kind);
  const lists = {
    projects: of('Project').map(({ name: project }) => ({ project })),
    virtualClusters: of('VirtualClusterInstance').map(({ project, name }) => ({
      project,
      virtualCluster: name,
    })),
    spaces: of('SpaceInstance').map(({ project, name }) => ({ project, space: name })),
    clusters: of('Cluster').map(({ name: cluster }) => ({ cluster })),
  };
  return Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0));
}

/**
 * @param {readonly Target[]} chosen
 * @param {string} prefix Of the namespaces of projects.
 * @returns {Json}
 */
export function readOnlyScope(chosen, prefix) {
  const reading = { verbs: ['get', 'list', 'watch'], resources: readable };
  const rules = chosen.flatMap((target) => ruleFor(target));
  /** @type {(target: Target) => readonly Json[]} */
  function ruleFor({ kind, project, name }) {
    if (kind === 'Cluster') return [{ ...reading, cluster: name }];
    if (kind !== 'VirtualClusterInstance') return [];
    return [{ ...reading, virtualClusters: [{ name, namespace: `${prefix}${project}` }] }];
  }
  return { rules };
}
