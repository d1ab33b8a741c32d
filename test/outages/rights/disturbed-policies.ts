import type { KubeClient } from '../../../src/kube/client/client.ts';
import { shippedPolicies } from '../../../src/operator/admission/generated/shipped-policies.ts';
import { policyResource } from '../../../src/operator/admission/policy-digest.ts';
import { takeAway } from './policies-away.ts';

/** Keeps policies from judging, and gives what has them judge again. */
export type Disturbance = (client: KubeClient) => Promise<() => Promise<void>>;

type Piece = (typeof shippedPolicies)[number];

/** Without all of these at once a stranger with the verbs may do anything but delete. */
const judging = [
  'requester',
  'requester-integrity',
  'ownership',
  'delegation',
  'key-delivery',
  'secret-reference',
  'target-secrets',
  'kept-fields',
];
const pieces = shippedPolicies.filter(({ name }) => judging.includes(name.replace('latchkey-', '')));
const isBinding = ({ kind }: Piece): boolean => kind.endsWith('Binding');
const never = { matchConditions: [{ name: 'never', expression: 'false' }] };

/** Bindings of a changing policy have no actions, so the policy is edited in their place. */
const audited = pieces.filter((piece) => isBinding(piece) === piece.kind.startsWith('Validating'));

async function edit(
  client: KubeClient,
  edited: readonly Piece[],
  specOf: (piece: Piece) => object,
): Promise<() => Promise<void>> {
  for (const piece of edited)
    await client.mergePatch(policyResource(piece.kind), { name: piece.name }, { spec: specOf(piece) });
  return async () => {
    for (const { kind, name, spec } of edited) {
      const undo = { matchConditions: null, ...(spec as { matchConditions?: unknown }) };
      const isPolicy = !kind.endsWith('Binding');
      await client.mergePatch(policyResource(kind), { name }, { spec: isPolicy ? undo : spec });
    }
  };
}

export const disturbances: Readonly<Record<string, Disturbance>> = {
  'deleted and made again': async (client) => await takeAway(client, pieces.filter(isBinding)),
  'edited and put back': async (client) =>
    await edit(
      client,
      pieces.filter((piece) => !isBinding(piece)),
      () => never,
    ),
  'set to Audit and back': async (client) =>
    await edit(client, audited, (piece) => (isBinding(piece) ? { validationActions: ['Audit'] } : never)),
};
