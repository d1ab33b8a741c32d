/** A server sent what is no HTTP/1.1 answer, or one that two readers could understand in two ways. */
export class BadResponse extends Error {}
