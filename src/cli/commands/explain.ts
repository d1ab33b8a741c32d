import { asObject, asText, type JsonObject } from '../../api/json.ts';
import { type Asked, reviewFor } from '../explain/asked.ts';
import { explainChain, type Verdict } from '../explain/chain.ts';
import { Platform } from '../gateway/platform.ts';
import { outputOption, readForm } from '../output/output.ts';
import { toJSON, toYAML } from '../output/yaml.ts';
import { connect, connectionOptions, readPlace } from '../session/connection.ts';
import { readKeyFromInput } from '../session/key-input.ts';
import { type CommandSpec, type Context, type Invocation, textOption } from '../shared/context.ts';
import { Failure, printable, usage } from '../shared/failure.ts';
import { readTarget } from '../targets/targets.ts';

export const explain: CommandSpec = {
  name: 'explain',
  summary: 'Says whether a key may do something, and which scope says no',
  details: [
    'With the name of a key of yours, its scope and that of each key above it are read as the gateway reads them. RBAC of its user is not looked at.',
    'With `-`, the key comes on standard input, and the gateway answers for it: scopes and RBAC.',
    'The exit code is 0 for yes and 1 for no.',
  ],
  arguments: [
    { name: 'key', about: 'The name of an access key, or `-`.' },
    { name: 'verb', about: 'get, list, watch, create, update, patch, delete and so on.' },
    { name: 'resource', about: 'As pods, pods/log or deployments.apps.' },
    { name: 'name', about: 'One object.', isOptional: true },
  ],
  options: {
    target: { type: 'string', value: 'TARGET', about: 'As in `latchkey targets`. Default: platform.' },
    namespace: { type: 'string', short: 'n', value: 'NAMESPACE', about: 'Default: none, or all of them.' },
    ...connectionOptions,
    ...outputOption,
  },
  examples: [
    {
      about: 'By the scopes of a key of yours',
      command: 'latchkey explain shop-ci list pods --target virtualcluster/demo/shop -n default',
    },
    {
      about: 'By the gateway, for a key in a file',
      command: 'latchkey explain - create deployments.apps --target cluster/staging -n web < ci.key',
    },
  ],
  run,
};

const verbs = [
  ...['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'],
  ...['use', 'use-as-admin', 'impersonate', 'bind', 'escalate', 'approve', 'sign', 'proxy', 'bind-namespace'],
];

async function run(invocation: Invocation, context: Context): Promise<number> {
  const form = readForm(invocation);
  const [key = '', verb = '', resource = '', name = ''] = invocation.positionals;
  if (!verbs.includes(verb))
    throw usage(`there is no verb ${JSON.stringify(verb)}`, `Write one of ${verbs.slice(0, 8).join(', ')}.`);
  const target = readTarget(textOption(invocation, 'target') ?? 'platform');
  const asked: Asked = {
    verb,
    ...readResource(resource),
    name,
    namespace: textOption(invocation, 'namespace') ?? '',
    target,
  };
  const verdicts =
    key === '-'
      ? [await askGateway(invocation, context, asked)]
      : explainChain(await chainOf(connect(invocation, context), key), asked);
  const allowed = verdicts.every((verdict) => verdict.allowed);
  if (form === 'json') context.stdout.write(toJSON({ allowed, verdicts }));
  else if (form === 'yaml') context.stdout.write(toYAML({ allowed, verdicts }));
  else context.stdout.write(inWords(verdicts, allowed));
  return allowed ? 0 : 1;
}

function inWords(verdicts: readonly Verdict[], allowed: boolean): string {
  const lines = verdicts.map(
    ({ key, allowed: yes, reason }) => `${key}: ${yes ? 'yes' : 'no'}${reason ? `, ${reason}` : ''}`,
  );
  return `${printable([allowed ? 'yes' : 'no', ...lines].join('\n'))}\n`;
}

function readResource(text: string): Pick<Asked, 'apiGroup' | 'resource' | 'subresource'> {
  const [whole = '', subresource = '', ...more] = text.split('/');
  const [resource = '', ...group] = whole.split('.');
  if (!/^[a-z0-9*]+$/.test(resource) || more.length > 0)
    throw usage(
      `${JSON.stringify(text)} is no resource`,
      'Write its plural, as in pods, pods/log or deployments.apps.',
    );
  return { resource, subresource, apiGroup: group.join('.') };
}

/** The key and those above it, nearest first. */
async function chainOf(gateway: Platform, name: string) {
  const prefix = asText(asObject((await gateway.self())['status'])['projectNamespacePrefix']) ?? '';
  const keys: JsonObject[] = [];
  let next: string | undefined = name;
  // As many levels as there may be.
  while (next !== undefined && keys.length < 8) {
    const found: JsonObject | undefined = await readKeyObject(gateway, next, keys.length === 0);
    if (found === undefined) return { keys, prefix, hidden: next };
    keys.push(found);
    next = asText(asObject(found['spec'])['accessKey']);
  }
  return { keys, prefix };
}

async function readKeyObject(
  gateway: Platform,
  name: string,
  isFirst: boolean,
): Promise<JsonObject | undefined> {
  try {
    return await gateway.own(`ownedaccesskeys/${encodeURIComponent(name)}`);
  } catch (error) {
    if (!isFirst && error instanceof Failure && error.kind === 'notFound') return undefined;
    throw error;
  }
}

async function askGateway(invocation: Invocation, context: Context, asked: Asked): Promise<Verdict> {
  const { session: _, ...place } = readPlace(invocation, context);
  const key = await readKeyFromInput(context, 'explain - …');
  const path = `/kubernetes${asked.target.path}/apis/authorization.k8s.io/v1/selfsubjectaccessreviews`;
  const answer = await new Platform({ ...place, key }, context).ask(path, {
    method: 'POST',
    body: reviewFor(asked),
  });
  const { allowed, reason } = asObject(answer['status']);
  return { key: 'the key', allowed: allowed === true, reason: asText(reason) ?? '' };
}
