import type { RawScope } from '../effective-scope.ts';
import { UnreadableEntry } from '../fields.ts';
import type { FindProject } from '../request-path.ts';
import { agentGate } from './agents.ts';
import { clusterEntry, projectEntry, spaceEntry, virtualClusterEntry } from './entries.ts';
import type { Gate, GateEntry } from './gate.ts';
import { roleEntry } from './roles.ts';
import { ruleEntry } from './rules.ts';

type EntryReader = (value: unknown, findProject: FindProject) => GateEntry | undefined;

const lists: ReadonlyMap<string, EntryReader> = new Map([
  ['projects', projectEntry],
  ['spaces', spaceEntry],
  ['virtualClusters', virtualClusterEntry],
  ['clusters', clusterEntry],
  ['roles', roleEntry],
  ['rules', ruleEntry],
]);

/**
 * Makes an effective scope ready to judge requests. Never throws: what cannot be read allows nothing. A list that is unknown
 * could be one that narrows, so the whole scope allows nothing then. Projects are looked up at each request: a namespace may become
 * one, or cease to be one.
 */
export function compileScope(scope: RawScope, findProject: FindProject): Gate {
  const agent = agentGate(scope);
  if (agent !== undefined) return agent;
  const unknown = Object.keys(scope).filter((list) => !lists.has(list));
  if (unknown.length > 0) {
    return {
      entries: [],
      warnings: unknown.map((list) => `scope.${list} is unknown, so the scope allows nothing`),
    };
  }
  const entries: GateEntry[] = [];
  const warnings: string[] = [];
  for (const [list, read] of lists) {
    const values = scope[list] ?? [];
    if (!Array.isArray(values)) warnings.push(`scope.${list} is no list, so it allows nothing`);
    else readEntries(values, (value) => read(value, findProject), { list, entries, warnings });
  }
  return { entries, warnings };
}

interface Reading {
  readonly list: string;
  readonly entries: GateEntry[];
  readonly warnings: string[];
}

function readEntries(
  values: readonly unknown[],
  read: (value: unknown) => GateEntry | undefined,
  { list, entries, warnings }: Reading,
): void {
  for (const [index, value] of values.entries()) {
    try {
      const entry = read(value);
      if (entry !== undefined) entries.push(entry);
    } catch (error) {
      if (!(error instanceof UnreadableEntry)) throw error;
      warnings.push(`scope.${list}[${index}] allows nothing: ${error.message}`);
    }
  }
}
