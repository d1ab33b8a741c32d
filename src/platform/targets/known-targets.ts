import type { Origin, Store, StoredRecord } from '../../kube/cache/store.ts';
import {
  namesOfCluster,
  namesOfProject,
  namesOfSpace,
  namesOfVirtualCluster,
  type TargetName,
} from '../../scope/named-targets.ts';
import { type ProjectRecord, projectOf } from './project-record.ts';
import type { TargetRecord } from './target-record.ts';
import type { TargetStores } from './target-stores.ts';

export type TargetNameListener = (name: TargetName, origin: Origin) => void;

/** The targets that scopes can name: under which names there is a project, a cluster or an instance. What is being deleted is gone. */
export class KnownTargets {
  /** How many there are of each name. */
  readonly #counts = new Map<TargetName, number>();
  readonly #listeners: TargetNameListener[] = [];

  constructor(
    {
      projects,
      clusters,
      spaces,
      instances,
    }: Pick<TargetStores, 'projects' | 'clusters' | 'spaces' | 'instances'>,
    projectNamespacePrefix: string,
  ) {
    const prefix = projectNamespacePrefix;
    this.#follow(projects, (record) => namesOf(record, prefix));
    this.#follow(
      clusters,
      present(({ name }) => namesOfCluster(name)),
    );
    this.#follow(
      spaces,
      present((record) => namesOfSpace(record, prefix)),
    );
    this.#follow(
      instances,
      present((record) => namesOfVirtualCluster(record, prefix)),
    );
  }

  readonly has = (name: TargetName): boolean => this.#counts.has(name);

  /** The listener is called when the first of a name has come, or the last has gone. */
  subscribe(listener: TargetNameListener): void {
    this.#listeners.push(listener);
  }

  #follow<R extends StoredRecord>(store: Store<R>, namesOf: (record: R) => readonly TargetName[]): void {
    store.subscribe(({ previous, current, origin }) => {
      const before = previous === undefined ? [] : namesOf(previous);
      const after = current === undefined ? [] : namesOf(current);
      for (const name of without(after, before)) this.#count(name, 1, origin);
      for (const name of without(before, after)) this.#count(name, -1, origin);
    });
  }

  #count(name: TargetName, change: 1 | -1, origin: Origin): void {
    const before = this.#counts.get(name) ?? 0;
    const after = before + change;
    if (after === 0) this.#counts.delete(name);
    else this.#counts.set(name, after);
    if (before === 0 || after === 0) for (const listener of this.#listeners) listener(name, origin);
  }
}

const without = (names: readonly TargetName[], others: readonly TargetName[]): readonly TargetName[] =>
  names.filter((name) => !others.includes(name));

function namesOf(record: ProjectRecord, prefix: string): readonly TargetName[] {
  const project = projectOf(record, prefix);
  return project === undefined ? [] : namesOfProject(record.key, project);
}

const present =
  <R extends TargetRecord>(namesOf: (record: R) => readonly TargetName[]) =>
  (record: R): readonly TargetName[] =>
    record.deleted === undefined ? namesOf(record) : [];
