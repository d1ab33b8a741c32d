import { announce, el } from './dom.js';

/** @typedef {import('./workplace.js').Workplace} Workplace */
/** @typedef {{ kind: string, project: string, name: string }} Target */

const paths = {
  Cluster: (/** @type {Target} */ { name }) => `cluster/${name}`,
  SpaceInstance: (/** @type {Target} */ { project, name }) => `project/${project}/space/${name}`,
  VirtualClusterInstance: (/** @type {Target} */ { project, name }) =>
    `project/${project}/virtualcluster/${name}`,
};

/** @param {Target} target */
const pathOf = (target) => paths[/** @type {keyof typeof paths} */ (target.kind)](target);
/** @param {Target} target */
const labelOf = (target) => pathOf(target).replace(/^project\/([^/]+)\/([^/]+)\//, '$2/$1/');

/** @param {Workplace} place */
export function openKubeconfig(place) {
  const select = el(
    'select',
    { id: 'target', required: true },
    el('option', { value: '' }, 'Reading \u2026'),
  );
  const life = el(
    'select',
    { id: 'token-life' },
    ...[
      ['1 hour', 3_600],
      ['8 hours', 28_800],
      ['1 day', 86_400],
    ].map(([text, ttl]) => el('option', { value: ttl }, String(text))),
  );
  const asked = el('input', { type: 'radio', name: 'form', id: 'form-asked', checked: true });
  const inside = el('input', { type: 'radio', name: 'form', id: 'form-inside' });
  const direct = el('input', { type: 'radio', name: 'form', id: 'form-direct' });
  const submit = el('button', { type: 'submit', class: 'main' }, 'Download');
  /** @type {readonly Target[]} */
  let targets = [];
  void place.gateway.self({ targets: true }).then(
    ({ targets: found = [] }) => {
      targets = found;
      select.replaceChildren(
        ...found.map((/** @type {Target} */ target, /** @type {number} */ index) =>
          el('option', { value: index }, labelOf(target)),
        ),
      );
      if (found.length === 0)
        select.replaceChildren(el('option', { value: '' }, 'You may use no target yet'));
    },
    (error) => announce(error.message),
  );
  const onsubmit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    void place.dialog.attempt(submit, async () => {
      const target = targets[Number(select.value)];
      if (select.value === '' || target === undefined) throw new Error('Choose a target.');
      const text = inside.checked
        ? await issue(place, target, Number(life.value))
        : withCommand(place, target, direct.checked ? await findDirectEndpoint(place, target) : undefined);
      save(`${target.name}.kubeconfig`, text);
      announce('The kubeconfig is downloaded.');
      place.dialog.close();
    });
  };
  const check = (/** @type {HTMLElement} */ box, /** @type {string} */ text) =>
    el('div', { class: 'check' }, box, el('label', { for: box.id }, text));
  place.dialog.open('Get a kubeconfig', [
    el(
      'form',
      { onsubmit },
      el('label', { for: 'target' }, 'For'),
      select,
      el(
        'fieldset',
        {},
        el('legend', {}, 'Form'),
        check(asked, 'without a key: kubectl asks the command latchkey for one'),
        check(direct, 'the same past the gateway, for a cluster that has a direct endpoint'),
        check(inside, 'with a token in it, for a virtual cluster'),
      ),
      el('label', { for: 'token-life' }, 'The token ends after'),
      life,
      authorityHint(),
      el('div', { class: 'actions' }, submit),
    ),
  ]);
}

const authorityHint = () =>
  el(
    'p',
    { class: 'hint' },
    'Without a key the form does not name the certificate authority of the gateway. If this computer does not trust that, use ',
    el('code', {}, 'latchkey kubeconfig TARGET [--direct] --certificate-authority FILE'),
  );

/**
 * @param {Workplace} place
 * @param {Target} target
 * @param {number} certificateTTL
 */
async function issue(place, { kind, project, name }, certificateTTL) {
  if (kind !== 'VirtualClusterInstance')
    throw new Error('Only a virtual cluster gives a kubeconfig with a token. Choose the other form.');
  const namespace = `${place.self['projectNamespacePrefix']}${project}`;
  const path = `namespaces/${namespace}/virtualclusterinstances/${name}/kubeconfig`;
  const { status } = await place.gateway.own(path, { method: 'POST', body: { spec: { certificateTTL } } });
  void place.refresh().catch(() => undefined);
  return String(status.kubeConfig);
}

/**
 * As the Cluster names it.
 * @param {Pick<Workplace, 'gateway' | 'self'>} place
 * @param {Target} target
 * @returns {Promise<{ host: string, caData?: string }>}
 */
export async function findDirectEndpoint({ gateway, self }, { kind, project, name }) {
  if (kind === 'VirtualClusterInstance')
    throw new Error('A virtual cluster is behind no direct endpoint. Choose another form.');
  const space = `namespaces/${self['projectNamespacePrefix']}${project}/spaceinstances/${name}`;
  const cluster = kind === 'Cluster' ? name : (await gateway.own(space)).spec?.clusterRef?.cluster;
  if (!/^[a-z0-9.-]+$/.test(cluster ?? ''))
    throw new Error(`The space ${name} names no cluster yet. Try again in a moment.`);
  const { host: given, caData } = (await gateway.own(`clusters/${cluster}`)).spec?.directEndpoint ?? {};
  if (!given) throw new Error(`The cluster ${cluster} has no direct endpoint. Choose another form.`);
  const host = readHost(given);
  if (host === undefined)
    throw new Error(
      `The host of the direct endpoint of the cluster ${cluster} cannot be used. Tell who runs the cluster.`,
    );
  return caData ? { host, caData } : { host };
}

/**
 * Undefined for more than a host and a port: a kubeconfig would send the token to another place, or with a password.
 * @param {string} text
 */
function readHost(text) {
  const address = `https://${text}`;
  if (!URL.canParse(address)) return undefined;
  const { href, host } = new URL(address);
  return href === `https://${host}/` ? host : undefined;
}

/**
 * As `latchkey kubeconfig` writes it, but for the certificate authority: no page can see which one its browser trusts. JSON is YAML, too.
 * @param {{ gateway: { baseURL: string } }} place
 * @param {Target} target
 * @param {{ host: string, caData?: string }} [direct]
 */
export function withCommand({ gateway: { baseURL } }, target, direct) {
  const server = direct === undefined ? baseURL : `https://${direct.host}`;
  const name = `${labelOf(target).replaceAll('/', '-')}@${new URL(server).host}`;
  const authority = direct?.caData === undefined ? {} : { 'certificate-authority-data': direct.caData };
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: 'latchkey',
    args: [
      ...['credential', '--base-url', baseURL],
      ...(direct === undefined ? [] : ['--direct', labelOf(target)]),
    ],
    interactiveMode: 'IfAvailable',
    provideClusterInfo: true,
    installHint: 'This kubeconfig needs the command latchkey in your PATH: npm install --global latchkey',
  };
  const document = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server: `${server}/kubernetes/${pathOf(target)}`, ...authority } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    users: [{ name, user: { exec } }],
    'current-context': name,
  };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

/**
 * @param {string} name
 * @param {string} text
 */
function save(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: 'application/yaml' }));
  el('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
