/** One request of a client as it left it, without its credential. */
export interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** A body that is no text. */
  readonly base64?: string;
}

export interface Recording {
  /** The client and its version. */
  readonly title: string;
  readonly requests: readonly RecordedRequest[];
}
