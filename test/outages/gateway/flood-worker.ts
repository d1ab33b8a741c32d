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
  /** The status of its requests that says that the gateway does the work in question. */
  readonly expected: number;
}

/** Says when a request got the expected status for the first time, and floods on until it gets a message. */
const { url, ca, key, method, type, body, atOnce, expected } = workerData as Flood;
const dispatcher = new Agent({ connect: { ca }, connections: atOnce });
const headers = { authorization: `Bearer ${key}`, 'content-type': type };
const port = parentPort as MessagePort;
const ended = once(port, 'message');
let isUnderWay = false;
let isOver = false;

async function send(): Promise<void> {
  while (!isOver) {
    // A refusal before the end of a body closes the connection.
    const answer = await request(url, { method, headers, body, dispatcher }).catch(() => undefined);
    await answer?.body.dump().catch(() => undefined);
    if (isUnderWay || answer?.statusCode !== expected) continue;
    isUnderWay = true;
    port.postMessage('under way');
  }
}

const all = Promise.all(Array.from({ length: atOnce }, send));
await ended;
isOver = true;
// The requests under way have shown what they had to.
await dispatcher.destroy();
await all;
