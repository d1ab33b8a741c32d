import { Agent, request } from 'undici';
import type { Clock } from '../../kube/clock.ts';
import { TargetAddresses } from '../../platform/targets/addresses.ts';
import type { ReadDocument } from './key-sets.ts';

/** The whole read, connection included. */
const maxMs = 5_000;
const maxBytes = 256 * 1_024;

/** A name may stand for any address. None may lead to this machine, its neighbours, or what hands out the credentials of machines. */
const beyondThisMachine = new TargetAddresses(['0.0.0.0/0', '::/0']);

/** Reads small JSON documents. It follows no redirect, and keeps no connection. */
export const readJSONOverHTTPS =
  (clock: Pick<Clock, 'setTimer'>): ReadDocument =>
  async (url, { certificateAuthority, isElsewhere }) => {
    const connect = {
      ...(certificateAuthority === undefined ? {} : { ca: certificateAuthority }),
      ...(isElsewhere === true ? { lookup: beyondThisMachine.lookup } : {}),
      timeout: maxMs,
    };
    const agent = new Agent({ connect, pipelining: 0 });
    const ended = new AbortController();
    const timer = clock.setTimer(() => ended.abort(new Error('the read took too long')), maxMs);
    try {
      const options = { dispatcher: agent, signal: ended.signal, headers: { accept: 'application/json' } };
      const { statusCode, body } = await request(url, options);
      if (statusCode !== 200) throw new Error(`the answer is ${statusCode}`);
      return JSON.parse(await readText(body));
    } finally {
      timer.cancel();
      await agent.destroy();
    }
  };

async function readText(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > maxBytes) throw new Error(`the answer has more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
