import { Agent, type Dispatcher, request } from 'undici';
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
  status(request: Request): Promise<number>;
}

/** With the credentials of a kubeconfig. It ends after the tests of the file. */
export async function clientWith(kubeconfig: string): Promise<ApiClient> {
  const { server, tls, headers: own } = await kubeConfigSource({ file: kubeconfig }).load();
  const dispatcher = new Agent({ connect: { ca: tls.ca as string } });
  afterAll(async () => await dispatcher.close());
  const authorization = Object.fromEntries([own as [string, string]]);
  return {
    status: async ({ method = 'GET', path, headers = {}, body }) => {
      const contentType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
      const answer = await request(server.origin + path, {
        method: method as Dispatcher.HttpMethod,
        headers: { ...authorization, ...headers, ...(body && { 'content-type': contentType }) },
        ...(body && { body }),
        dispatcher,
      });
      await answer.body.dump();
      return answer.statusCode;
    },
  };
}
