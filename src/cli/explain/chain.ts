import { asObject, asText, type JsonObject } from '../../api/json.ts';
import { effectiveScope } from '../../scope/effective-scope.ts';
import { authorise } from '../../scope/gate/authorise.ts';
import { compileScope } from '../../scope/gate/compile-scope.ts';
import { explainDenial } from '../../scope/gate/explain.ts';
import { projectOfNamespace } from '../../scope/request-path.ts';
import { type Asked, meaningOf } from './asked.ts';

/** The answer of one key of a chain. */
export interface Verdict {
  readonly key: string;
  readonly allowed: boolean;
  /** Empty where there is nothing to say. */
  readonly reason: string;
}

export interface KeyChain {
  /** Nearest first. */
  readonly keys: readonly JsonObject[];
  readonly prefix: string;
  /** The first one that the holder may not see. */
  readonly hidden?: string;
}

/** The answer of each key of a chain to a request: the scope of every one must let it pass. */
export function explainChain({ keys, prefix, hidden }: KeyChain, asked: Asked): readonly Verdict[] {
  const verdicts = keys.map((key) => verdictOf(key, prefix, asked));
  const isHidden =
    hidden === undefined
      ? []
      : [{ key: hidden, allowed: true, reason: 'as far as you may see: it is not yours' }];
  return [...verdicts, ...isHidden];
}

function verdictOf(object: JsonObject, prefix: string, asked: Asked): Verdict {
  const key = asText(asObject(object['metadata'])['name']) ?? '?';
  const problem = stateProblem(object);
  if (problem !== undefined) return { key, allowed: false, reason: problem };
  const scope = effectiveScope(asObject(object['spec']));
  if (scope === undefined) return { key, allowed: true, reason: 'it has no scope' };
  const request = meaningOf(asked);
  const gate = compileScope(scope, (namespace) => projectOfNamespace(namespace, prefix));
  // Which namespace a space is, only the platform knows.
  const place = { namespace: request.namespace || 'any', isPlatform: asked.target.name === 'platform' };
  const answer = authorise({ gates: [gate], request, place });
  if (answer.allowed) return { key, allowed: true, reason: '' };
  return { key, allowed: false, reason: explainDenial(answer, request, `OwnedAccessKey "${key}"`) };
}

/** Why the gateway refuses the key altogether. */
function stateProblem(object: JsonObject): string | undefined {
  const { conditions } = asObject(object['status']);
  const all = (Array.isArray(conditions) ? conditions : []).map(asObject);
  const ready = all.find(({ type }) => type === 'Ready');
  if (ready?.['status'] === 'True') return undefined;
  return `the gateway refuses this key: ${asText(ready?.['reason']) ?? 'it is not confirmed yet'}`;
}
