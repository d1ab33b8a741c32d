import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import type { Identity } from '../../../lab/controlplane/certificates.ts';
import { socketsOf } from '../../e2e/gateway/process-sockets.ts';

/** Asks a kubelet for a log. Resolves with the answer, or with the reason why there is none. */
export async function askKubelet(port: number, identity?: Identity): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const sent = request({
    ...{ host: '127.0.0.1', port, path: '/containerLogs/default/pod/main', rejectUnauthorized: false },
    ...(identity && { cert: identity.certificate, key: identity.key }),
  });
  sent.on('error', (error) => resolve(error.message));
  sent.on('response', async (answer) => resolve(`${answer.statusCode} ${await text(answer)}`));
  sent.end();
  return await promise;
}

/** The ports at which a process takes connections, on whatever address. */
export const listeningPorts = (pid: number): readonly number[] =>
  socketsOf(pid)
    .filter(({ isListening }) => isListening)
    .map(({ localPort }) => localPort)
    .sort();
