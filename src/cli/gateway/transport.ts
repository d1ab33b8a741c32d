import type { IncomingMessage } from 'node:http';
import { Agent, type AgentOptions, request } from 'node:https';
import { getCACertificates } from 'node:tls';
import type { Answer, SentRequest } from '../shared/context.ts';
import { explainNetworkError } from './network-errors.ts';

/** Lists of thousands of objects, and no more: what answers may be no gateway. */
const maxBytes = 64 * 2 ** 20;

/** Sends one request on a connection of its own. Rejects with a Failure where no answer comes. */
export async function sendOverHTTPS(sent: SentRequest): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const url = new URL(sent.url);
  const fail = (error: unknown) => reject(explainNetworkError(error, url));
  const signal = AbortSignal.any([sent.signal, AbortSignal.timeout(sent.timeoutMs)]);
  const { method, headers } = sent;
  const outgoing = request(url, { method, headers, signal, agent: agentFor(sent.ca) }, (response) => {
    collect(response).then(resolve, fail);
  });
  outgoing.once('error', fail);
  outgoing.end(sent.body);
  return await promise;
}

/** Go clients such as kubectl trust what the system trusts; Node by itself does not. */
function agentFor(ca: string | undefined): Agent {
  const trusted = ca ?? [...getCACertificates('default'), ...getCACertificates('system')];
  // NODE_TLS_REJECT_UNAUTHORIZED, which people set for other programs, must not let a stranger have the key.
  const options: AgentOptions = {
    ...{ ca: trusted, minVersion: 'TLSv1.2', keepAlive: false },
    rejectUnauthorized: true,
  };
  // Requests go through the proxy that HTTPS_PROXY names.
  return new Agent({ ...options, proxyEnv: process.env });
}

async function collect(response: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    size += (chunk as Buffer).length;
    if (size > maxBytes) throw new Error('the answer is too large');
    chunks.push(chunk as Buffer);
  }
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    text: Buffer.concat(chunks).toString('utf8'),
  };
}
