import { type Needle, needlesOf } from './needles.ts';
import type { Place } from './places.ts';

/** A secret that was found, never with its text. */
export interface Finding {
  readonly secret: string;
  readonly form: string;
  readonly where: string;
}

interface Known {
  readonly title: string;
  readonly needles: readonly Needle[];
  readonly meantFor: ReadonlySet<string>;
}

/** The secrets of a run, and where each of them may stand. */
export class KnownSecrets {
  readonly #known: Known[] = [];

  /** `meantFor`: the places, as a `Place` names them, where the secret belongs; none for one that is not valid any more. */
  add(title: string, secret: string, meantFor: readonly string[] = []): void {
    if (secret.length < 16) throw new RangeError(`${title}: too short to be recognised`);
    this.#known.push({ title, needles: needlesOf(secret), meantFor: new Set(meantFor) });
  }

  /** Titles of those that stand somewhere. */
  get valid(): readonly string[] {
    return this.#known.filter(({ meantFor }) => meantFor.size > 0).map(({ title }) => title);
  }

  /** Where secrets stand that are not meant for that place. */
  astray(places: readonly Place[]): readonly Finding[] {
    return this.#find(places, ({ meantFor }, where) => !meantFor.has(where));
  }

  /** Where secrets stand that are meant for that place. */
  atHome(places: readonly Place[]): readonly Finding[] {
    return this.#find(places, ({ meantFor }, where) => meantFor.has(where));
  }

  #find(places: readonly Place[], counts: (known: Known, where: string) => boolean): readonly Finding[] {
    return places.flatMap(({ where, text }) =>
      this.#known
        .filter((known) => counts(known, where))
        .flatMap(({ title, needles }) =>
          needles
            .filter((needle) => text.includes(needle.text))
            .slice(0, 1)
            .map(({ form }) => ({ secret: title, form, where })),
        ),
    );
  }
}
