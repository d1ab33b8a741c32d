import { readFile } from 'node:fs/promises';
import { Agent, request } from 'undici';
import { parse } from 'yaml';
import type { ControlPlaneAccess } from '../../../lab/controlplane/access.ts';

export const contentTypes = {
  json: 'application/json',
  mergePatch: 'application/merge-patch+json',
  jsonPatch: 'application/json-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;

export interface ApiAnswer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: the JSON that the API server sent, looked into by assertions.
  readonly body: any;
  /** The texts of the Warning headers. */
  readonly warnings: readonly string[];
}

export interface ApiRequest {
  readonly body?: unknown;
  readonly contentType?: string;
  readonly query?: Readonly<Record<string, string>>;
}

/** Speaks to the API server as one user, over that user's own client certificate. */
export class ApiClient {
  readonly #server: string;
  readonly #agent: Agent;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(server: string, agent: Agent, headers: Readonly<Record<string, string>> = {}) {
    this.#server = server;
    this.#agent = agent;
    this.#headers = headers;
  }

  /** The same connection with more headers, as the administrator who impersonates does. */
  withHeaders(headers: Readonly<Record<string, string>>): ApiClient {
    return new ApiClient(this.#server, this.#agent, { ...this.#headers, ...headers });
  }

  async send(method: string, path: string, options: ApiRequest = {}): Promise<ApiAnswer> {
    const answer = await request(new URL(path, this.#server), {
      dispatcher: this.#agent,
      method: method as 'GET',
      query: { ...options.query },
      headers: { 'content-type': options.contentType ?? contentTypes.json, ...this.#headers },
      body: options.body === undefined ? null : JSON.stringify(options.body),
      headersTimeout: 30_000,
      bodyTimeout: 30_000,
    });
    const warnings = [answer.headers['warning'] ?? []].flat().flatMap(textsOfWarnings);
    return { status: answer.statusCode, body: await answer.body.json(), warnings };
  }

  async close(): Promise<void> {
    await this.#agent.close();
  }
}

/** The texts of `299 - "text", 299 - "text"`. */
function textsOfWarnings(header: string): string[] {
  const warnings = [...header.matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/gs)];
  return warnings.map(([, text = '']) => text.replaceAll(/\\(.)/gs, '$1'));
}

/** A client for a user with a new client certificate. */
export async function clientFor(
  plane: ControlPlaneAccess,
  user: string,
  groups: readonly string[] = [],
): Promise<ApiClient> {
  return await clientOf(await plane.kubeconfigFor(user, groups));
}

/** A client for the administrator, `platform-admin` in `system:masters`. */
export async function adminClient(plane: ControlPlaneAccess): Promise<ApiClient> {
  return await clientOf(plane.adminKubeconfig);
}

async function clientOf(kubeconfig: string): Promise<ApiClient> {
  const document = parse(await readFile(kubeconfig, 'utf8'));
  const cluster = document.clusters[0].cluster;
  const user = document.users[0].user;
  const decode = (data: string): string => Buffer.from(data, 'base64').toString('utf8');
  const agent = new Agent({
    connections: 4,
    connect: {
      ca: decode(cluster['certificate-authority-data']),
      cert: decode(user['client-certificate-data']),
      key: decode(user['client-key-data']),
    },
  });
  return new ApiClient(cluster.server, agent);
}
