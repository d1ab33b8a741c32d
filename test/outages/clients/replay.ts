import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { parse } from 'yaml';
import type { RecordedRequest } from '../../clients/recorded/recording.ts';
import { withoutWhatVaries } from './kubectl-calls.ts';

/** Where a kubeconfig leads, and with what. */
interface Door {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: object;
}

/** The facts that a client learns from an answer, without those that differ each time. */
export interface Answer {
  readonly status: number;
  readonly [detail: string]: unknown;
}

export async function doorOf(kubeconfig: string): Promise<Door> {
  const { clusters, users } = parse(await readFile(kubeconfig, 'utf8'));
  const [{ cluster }] = clusters;
  const [{ user }] = users;
  const pem = (data?: string) => (data === undefined ? undefined : Buffer.from(data, 'base64').toString());
  return {
    url: cluster.server,
    headers: user.token === undefined ? {} : { authorization: `Bearer ${user.token}` },
    tls: {
      ca: pem(cluster['certificate-authority-data']),
      cert: pem(user['client-certificate-data']),
      key: pem(user['client-key-data']),
    },
  };
}

/** Sends requests one after the other, as the client sent them. */
export class Replay {
  readonly #door: Door;
  /** Of the object that was answered last: a client sends it back, and in another cluster it is another one. */
  #last: { readonly uid?: string; readonly resourceVersion?: string } = {};

  constructor(door: Door) {
    this.#door = door;
  }

  /** Of a watch the first event is the answer. */
  async send(recorded: RecordedRequest): Promise<Answer> {
    const { base64 } = recorded;
    const body = base64 === undefined ? this.#upToDate(recorded.body ?? '') : Buffer.from(base64, 'base64');
    const headers = {
      ...recorded.headers,
      ...this.#door.headers,
      ...(body.length > 0 && { 'content-length': String(Buffer.byteLength(body)) }),
    };
    return await new Promise((resolve, reject) => {
      const options = { method: recorded.method, headers, agent: false, ...this.#door.tls };
      const sent = request(this.#door.url + recorded.path, options);
      sent.once('error', reject);
      sent.once('upgrade', (response, socket) => {
        socket.destroy();
        resolve({ status: response.statusCode ?? 0 });
      });
      sent.once('response', (response) => {
        void this.#answerOf(recorded, response)
          .then(resolve, reject)
          .finally(() => sent.destroy());
      });
      sent.end(body);
    });
  }

  async #answerOf(recorded: RecordedRequest, response: IncomingMessage): Promise<Answer> {
    const status = response.statusCode ?? 0;
    const type = response.headers['content-type'];
    if (status === 200 && isWatch(recorded)) return { status, type, first: await firstEvent(response) };
    const bytes = await buffer(response);
    if (type === 'application/vnd.kubernetes.protobuf') return { status, type, words: wordsIn(bytes) };
    // Each pod has another suffix there.
    const content = bytes.toString().replaceAll(/(kube-api-access)-\w{5}/g, '$1');
    if (!type?.startsWith('application/json')) return { status, type, content };
    const document = JSON.parse(content);
    if (document.metadata?.uid !== undefined) this.#last = document.metadata;
    return { status, type, ...outlineOf(document) };
  }

  #upToDate(body: string): string {
    const { uid = '', resourceVersion = '' } = this.#last;
    return body
      .replaceAll(/"uid":"[^"]*"/g, `"uid":"${uid}"`)
      .replaceAll(/("resourceVersion":|\/resourceVersion","value":)"\d+"/g, `$1"${resourceVersion}"`);
  }
}

/** Of a binary answer its texts: times and numbers are none. */
const wordsIn = (bytes: Buffer): readonly string[] =>
  (bytes.toString('latin1').match(/[\x20-\x7e]{6,}/g) ?? [])
    .map((word) => withoutWhatVaries(word).replace(/(kube-api-access)-\w{5}/, '$1'))
    .filter((word) => !/^\d+$/.test(word));

const isWatch = ({ path }: RecordedRequest): boolean => /[?&]watch=(?:true|True|1)\b/.test(path);

async function firstEvent(response: IncomingMessage): Promise<unknown> {
  let line = '';
  for await (const chunk of response) {
    line += chunk;
    if (!line.includes('\n')) continue;
    const { type, object } = JSON.parse(line.split('\n')[0] ?? '');
    return { type, ...outlineOf(object) };
  }
  return 'ended';
}

/** A refusal and discovery as they are; of objects their kind, names and fields. */
function outlineOf(document: Readonly<Record<string, unknown>>): object {
  const { kind, apiVersion, message, reason, metadata, items, spec, data } = document;
  if (kind === 'Status') return { kind, message, reason };
  // Aggregated discovery.
  if (kind === 'APIGroupDiscoveryList') return document;
  if (metadata === undefined) return document;
  const name = (metadata as { name?: string } | undefined)?.name;
  if (!Array.isArray(items))
    return { kind, apiVersion, name, spec, data, fields: Object.keys(document).sort() };
  return { kind, apiVersion, items: items.map((item) => item.metadata?.name).sort() };
}
