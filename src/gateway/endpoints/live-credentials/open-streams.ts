/** A response of a stream. */
interface Stream {
  destroy(): void;
}

/**
 * The streams of each cluster that are open, up to a limit. One more ends the oldest: its reader may have vanished without a word, which
 * no one sees for minutes, and the newest is the one that lives.
 */
export class OpenStreams {
  readonly #maxOfCluster: number;
  /** The oldest first. */
  readonly #ofCluster = new Map<string, Set<Stream>>();

  constructor(maxOfCluster: number) {
    this.#maxOfCluster = maxOfCluster;
  }

  /** Returns a function to call at the end. */
  enter(cluster: string, stream: Stream): () => void {
    const open = this.#ofCluster.get(cluster) ?? new Set();
    this.#ofCluster.set(cluster, open.add(stream));
    const [oldest] = open;
    if (open.size > this.#maxOfCluster && oldest !== undefined) {
      open.delete(oldest);
      oldest.destroy();
    }
    return () => {
      open.delete(stream);
      // One that was ended may leave after all others, when new ones are there.
      if (open.size === 0 && this.#ofCluster.get(cluster) === open) this.#ofCluster.delete(cluster);
    };
  }
}
