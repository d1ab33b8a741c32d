import { constants, setPriority } from 'node:os';
import { Agent, type Dispatcher, request } from 'undici';

/** To the process: what it sends from now on. */
export interface NoiseOrder {
  readonly url: string;
  readonly ca: string;
  readonly method: Dispatcher.HttpMethod;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Requests that are under way at the same time. */
  readonly atOnce: number;
}

/** From the process, once it was told to stop: how many requests were answered, or refused before their end. */
export interface NoiseMade {
  readonly requests: number;
}

// On a platform this work is done on the machine of the noisy user, not on that of the gateway.
setPriority(constants.priority.PRIORITY_LOW);

let hasEnded = false;
let requests = 0;
let sending: Promise<unknown> = Promise.resolve();

process.on('message', async (message: NoiseOrder | 'stop') => {
  if (message !== 'stop') {
    sending = send(message);
    return;
  }
  hasEnded = true;
  await sending;
  process.send?.({ requests } satisfies NoiseMade);
});
// Every other way of ending, too, closes the channel; nothing may be left behind.
process.on('disconnect', () => process.exit());

async function send({ url, ca, method, headers, body, atOnce }: NoiseOrder): Promise<void> {
  const dispatcher = new Agent({ connect: { ca }, connections: atOnce });
  const repeat = async () => {
    while (!hasEnded) {
      // A refusal before the end of a body closes the connection.
      const answer = await request(url, { method, headers, body, dispatcher }).catch(() => undefined);
      await answer?.body.dump().catch(() => undefined);
      requests += 1;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, repeat));
  await dispatcher.close();
}
