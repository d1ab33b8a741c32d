import { Agent, type buildConnector, type Dispatcher, request } from 'undici';
import { afterAll } from 'vitest';
import { kubeConfigSource } from '../../../src/kube/client/kube-config.ts';

interface Request {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Sends requests to an API server with headers that no client library would send. */
export interface ApiClient {
  send(request: Request): Promise<{ readonly status: number; readonly text: string }>;
  status(request: Request): Promise<number>;
}

/** With the credentials of a kubeconfig. It ends after the tests of the file. */
export async function clientWith(kubeconfig: string): Promise<ApiClient> {
  const { server, tls, headers: own } = await kubeConfigSource({ file: kubeconfig }).load();
  const { ca, cert, key } = tls;
  const dispatcher = new Agent({ connect: { ca, cert, key } as buildConnector.BuildOptions });
  afterAll(async () => await dispatcher.close());
  const authorization = own.length === 0 ? {} : Object.fromEntries([own as [string, string]]);
  const send: ApiClient['send'] = async ({ method = 'GET', path, headers = {}, body }) => {
    const contentType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const answer = await request(server.origin + path, {
      method: method as Dispatcher.HttpMethod,
      headers: { ...authorization, ...(body && { 'content-type': contentType }), ...headers },
      ...(body && { body }),
      dispatcher,
    });
    return { status: answer.statusCode, text: await answer.body.text() };
  };
  return { send, status: async (asked) => (await send(asked)).status };
}
