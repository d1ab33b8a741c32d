import type { Kubectl } from '../../../lab/operator/kubectl.ts';
import { until } from '../../../lab/operator/until.ts';
import { annotations } from '../../../src/api/names.ts';
import type { Project } from '../../e2e/kubeconfigs/kubeconfig-world.ts';

/** An object before it has a name. */
interface Unnamed {
  readonly kind: string;
  readonly namespace?: string;
  readonly spec: object;
}

/** A command about the object of this name. */
type Step = (kubectl: Kubectl, object: Unnamed, name: string) => Promise<unknown>;

interface Row {
  readonly object: Unnamed;
  /** As the line of the gateway about each step calls it. */
  readonly steps: readonly (readonly [action: string, step: Step])[];
  /** The lines of the operator that follow the one about the issue, in any order, beside others. */
  readonly outcomes: readonly string[];
}

interface Content {
  /** Fields of the spec. */
  readonly spec?: object;
  /** Value of the annotation that asks for another credential. */
  readonly rotate?: string;
}

const inputOf = ({ kind, namespace, spec }: Unnamed, name: string, content: Content): string =>
  JSON.stringify({
    ...{ apiVersion: 'management.platform.sh/v1', kind },
    metadata: { name, namespace, annotations: { [annotations.rotate]: content.rotate } },
    spec: { ...spec, ...content.spec },
  });

const sent =
  (command: readonly string[], content: Content = {}): Step =>
  async (kubectl, object, name) =>
    await kubectl.ok([...command, '-f', '-'], { input: inputOf(object, name, content) });

const create = sent(['create']);
const apply = (content?: Content): Step => sent(['apply', '--server-side', '--force-conflicts'], content);

/** Again when the operator has written the status in between. */
const replace =
  (content: Content): Step =>
  async (kubectl, object, name) =>
    await until('the object is replaced', async () => {
      const input = inputOf(object, name, content);
      const { exitCode, stderr } = await kubectl.run(['replace', '-f', '-'], { input });
      if (exitCode !== 0 && !stderr.includes('(Conflict)')) throw new Error(stderr);
      return exitCode === 0;
    });

const command =
  (verb: string, ...flags: string[]): Step =>
  async (kubectl, { kind, namespace = 'default' }, name) =>
    await kubectl.ok([verb, kind.toLowerCase(), name, '--namespace', namespace, ...flags]);

const patch = (spec: object): Step => command('patch', '--type=merge', '-p', JSON.stringify({ spec }));
const annotate = command('annotate', `${annotations.rotate}=1`);
const label = command('label', 'a=b');
const remove = command('delete');

/** `change`: of the spec. */
const changes = (change: object): Row['steps'] => [
  ['create', create],
  ['rotate', annotate],
  ['change', patch(change)],
  ['rotate', replace({ rotate: '2' })],
  ['change', apply({ rotate: '2', spec: change })],
  ['delete', remove],
];

/** All that a holder does to a credential of each kind through the gateway, by requests of each kind. */
export function holderSteps(
  scope: object,
  { namespace, instance }: Project,
): readonly (readonly [what: string, Row])[] {
  const key = { kind: 'OwnedAccessKey', spec: { ttl: 3_600, scope } };
  const virtualClusterInstance = instance.metadata.name;
  const patches: Row['steps'] = [
    ['create', create],
    ['rotate', annotate],
    ['change', label],
    ['disable', patch({ disabled: true })],
    ['enable', patch({ disabled: false })],
    ['delete', remove],
  ];
  const named = { displayName: 'a' };
  const wholes: Row['steps'] = [
    ['create', apply()],
    ['rotate', apply({ rotate: '1' })],
    ['change', apply({ rotate: '1', spec: named })],
    ['disable', apply({ rotate: '1', spec: { ...named, disabled: true } })],
    ['enable', replace({ rotate: '1', spec: { ...named, disabled: false } })],
    ['change', replace({ rotate: '1' })],
    ['rotate', replace({ rotate: '2' })],
    ['disable', replace({ rotate: '2', spec: { disabled: true } })],
    ['delete', remove],
  ];
  const token = { kind: 'DirectClusterEndpointToken', spec: { ttl: 600 } };
  const kubeConfig = {
    ...{ kind: 'VirtualClusterInstanceKubeConfig', namespace },
    spec: { virtualClusterInstance, certificateTTL: 600 },
  };
  return [
    ['a key, by patches', { object: key, steps: patches, outcomes: ['refuse', 'delete'] }],
    ['a key, by PUT and server-side apply', { object: key, steps: wholes, outcomes: ['refuse', 'delete'] }],
    ['a token', { object: token, steps: changes({ ttl: 900 }), outcomes: ['delete'] }],
    ['a kubeconfig', { object: kubeConfig, steps: changes({ certificateTTL: 900 }), outcomes: ['delete'] }],
  ];
}
