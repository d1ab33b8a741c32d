import { asObject, asText, isObject, type JsonObject } from '../../api/json.ts';
import type { Platform } from '../gateway/platform.ts';
import { type Failure, usage } from '../shared/failure.ts';

/** An API server behind the gateway. */
export interface Target {
  /** As people write it: `cluster/<name>`, `space/<project>/<name>`, `virtualcluster/<project>/<name>` or `platform`. */
  readonly name: string;
  /** Behind `/kubernetes`. */
  readonly path: string;
}

const forms = 'platform, cluster/NAME, space/PROJECT/NAME or virtualcluster/PROJECT/NAME';
const isName = (text: string | undefined): text is string =>
  text !== undefined && /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/.test(text);

/** Reads the name of a target. Throws a Failure. */
export function readTarget(text: string): Target {
  const [kind = '', first, second, ...more] = text.split('/');
  const known = kinds[kind.toLowerCase()];
  if (known === undefined || more.length > 0) throw unknown(text);
  const target = known([first, second].filter((part) => part !== undefined));
  if (target === undefined) throw unknown(text);
  return target;
}

const ofProject =
  (kind: string) =>
  ([project, name, ...more]: readonly string[]): Target | undefined =>
    isName(project) && isName(name) && more.length === 0
      ? { name: `${kind}/${project}/${name}`, path: `/project/${project}/${kind}/${name}` }
      : undefined;

const cluster = ([name, ...more]: readonly string[]): Target | undefined =>
  isName(name) && more.length === 0 ? { name: `cluster/${name}`, path: `/cluster/${name}` } : undefined;

const platform = (parts: readonly string[]): Target | undefined =>
  parts.length === 0 ? { name: 'platform', path: '/management' } : undefined;

const kinds: Readonly<Record<string, (parts: readonly string[]) => Target | undefined>> = {
  platform,
  management: platform,
  cluster,
  space: ofProject('space'),
  virtualcluster: ofProject('virtualcluster'),
  vcluster: ofProject('virtualcluster'),
  vci: ofProject('virtualcluster'),
};

const unknown = (text: string): Failure =>
  usage(
    `${JSON.stringify(text)} is no target`,
    `Write ${forms}; \`latchkey targets\` prints those that you may use.`,
  );

/** A target that the holder may use, with its object. */
export interface UsableTarget extends Target {
  readonly project: string;
  readonly ready: string;
  readonly object: JsonObject;
}

const lists = [
  ['virtualclusterinstances', 'virtualcluster'],
  ['spaceinstances', 'space'],
  ['clusters', 'cluster'],
] as const;

/** All that the gateway shows to the holder. Throws a Failure. */
export async function findTargets(gateway: Platform): Promise<readonly UsableTarget[]> {
  const self = asObject((await gateway.self())['status']);
  const prefix = asText(self['projectNamespacePrefix']) ?? '';
  const found = await Promise.all(
    lists.map(async ([plural, kind]) => {
      const { items } = await gateway.own(plural);
      return (Array.isArray(items) ? items.filter(isObject) : []).flatMap((object) =>
        toTarget(object, kind, prefix),
      );
    }),
  );
  return found.flat();
}

function toTarget(object: JsonObject, kind: string, prefix: string): readonly UsableTarget[] {
  const { name, namespace } = asObject(object['metadata']);
  const project = String(namespace ?? '').startsWith(prefix)
    ? String(namespace ?? '').slice(prefix.length)
    : '';
  const parts = kind === 'cluster' ? [String(name)] : [project, String(name)];
  const target = kinds[kind]?.(parts);
  return target === undefined ? [] : [{ ...target, project, ready: readyOf(object), object }];
}

function readyOf(object: JsonObject): string {
  const { conditions } = asObject(object['status']);
  const ready = (Array.isArray(conditions) ? conditions : []).find(
    (one) => asObject(one)['type'] === 'Ready',
  );
  const { status, reason } = asObject(ready);
  return status === 'True' ? 'yes' : `no (${asText(reason) ?? 'unknown'})`;
}

/** The target of this name: in full, or the last part of it where only one has that. Throws a Failure. */
export async function resolveTarget(text: string, gateway: () => Platform): Promise<Target> {
  if (text.includes('/') || Object.hasOwn(kinds, text.toLowerCase())) return readTarget(text);
  if (!isName(text)) throw unknown(text);
  const found = (await findTargets(gateway())).filter(({ name }) => name.endsWith(`/${text}`));
  const [only, ...others] = found;
  if (only === undefined)
    throw usage(`no target is named ${text}`, '`latchkey targets` prints those that you may use.');
  if (others.length > 0)
    throw usage(
      `${found.length} targets are named ${text}`,
      `Write one of them in full: ${found.map(({ name }) => name).join(', ')}.`,
    );
  return only;
}
