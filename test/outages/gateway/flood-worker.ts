import { once } from 'node:events';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { Agent, type Dispatcher, request } from 'undici';

export interface Flood {
  readonly url: string;
  readonly ca: string;
  readonly key: string;
  readonly method: Dispatcher.HttpMethod;
  readonly type: string;
  readonly body: string;
  /** Requests, each as soon as one of them is answered. */
  readonly atOnce: number;
}

/** Floods until it gets a message, and then tells how many requests got which status. */
const { url, ca, key, method, type, body, atOnce } = workerData as Flood;
const dispatcher = new Agent({ connect: { ca }, connections: atOnce });
const headers = { authorization: `Bearer ${key}`, 'content-type': type };
const seen = new Map<number, number>();
const ended = once(parentPort as MessagePort, 'message');
const first = Promise.withResolvers<void>();
let isOver = false;

async function send(): Promise<void> {
  while (!isOver) {
    // A refusal before the end of a body closes the connection.
    const answer = await request(url, { method, headers, body, dispatcher }).catch(() => undefined);
    await answer?.body.dump().catch(() => undefined);
    const status = answer?.statusCode ?? 0;
    seen.set(status, (seen.get(status) ?? 0) + 1);
    first.resolve();
  }
}

const all = Promise.all(Array.from({ length: atOnce }, send));
await Promise.all([ended, first.promise]);
isOver = true;
parentPort?.postMessage(seen);
// The requests under way have shown what they had to.
await dispatcher.destroy();
await all;
