/**
 * - `sound`: an open watch is a sign that the store is current.
 * - `broken`: the last watch failed; that the next opens says only that the server answers.
 * - `doubted`: nothing has come for long; whether watches bring anything is asked first.
 * - `silent`: asked in vain; until a watch brings something its opening says nothing, and lists have to do.
 */
type State = 'sound' | 'broken' | 'doubted' | 'silent';

/** The worth of an opened watch: a server, or a proxy before it, may open each one and never send anything. */
export class WatchTrust {
  #state: State = 'sound';

  get isSound(): boolean {
    return this.#state === 'sound';
  }

  get isDoubted(): boolean {
    return this.#state === 'doubted';
  }

  get isSilent(): boolean {
    return this.#state === 'silent';
  }

  /** A watch or a list has brought something. */
  restored(): void {
    this.#state = 'sound';
  }

  /** The server ended a watch. One that brought nothing does not take back what is known of silence. */
  ended(): void {
    this.#state = this.isSilent ? 'doubted' : 'sound';
  }

  /** A watch failed; `isOverdue` where the server was to show a sign of life before that. */
  failed(isOverdue: boolean): void {
    this.#state = isOverdue ? 'doubted' : 'broken';
  }

  /** No answer to the question whether watches bring anything. */
  fellSilent(): void {
    this.#state = 'silent';
  }
}
