import type { JsonObject } from '../../api/json.ts';
import { apiVersion } from '../../api/names.ts';
import type { Answer, Context } from '../shared/context.ts';
import { printable } from '../shared/failure.ts';
import { readAnswer, warningsIn } from './answers.ts';

/** A gateway, and how to speak to it. */
export interface Connection {
  /** Without a slash at the end. */
  readonly baseURL: string;
  /** PEM. */
  readonly ca?: string;
  readonly key?: string;
}

export interface Question {
  readonly method?: string;
  readonly body?: object;
  readonly contentType?: string;
  readonly accept?: string;
  readonly timeoutMs?: number;
  /** In place of that of the connection. */
  readonly key?: string;
}

type Surroundings = Pick<Context, 'send' | 'signal' | 'now' | 'stderr'>;

const defaultTimeoutMs = 20_000;
const ofKinds = `/kubernetes/management/apis/${apiVersion}`;

/** The public API of one gateway, as the holder of a key. Each method throws a Failure. */
export class Platform {
  readonly connection: Connection;
  readonly #context: Surroundings;

  constructor(connection: Connection, context: Surroundings) {
    this.connection = connection;
    this.#context = context;
  }

  /** `path` begins behind the base URL. */
  async ask(path: string, question: Question = {}): Promise<JsonObject> {
    const answer = await this.send(path, question);
    // A refusal says the same in its message.
    if (answer.status < 400)
      for (const text of warningsIn(answer)) this.#context.stderr.write(`Warning: ${printable(text)}\n`);
    return readAnswer(answer, { baseURL: this.connection.baseURL, now: this.#context.now() });
  }

  /** An object or a list of our kinds: `path` is like `ownedaccesskeys/ci`. */
  async own(path: string, question: Question = {}): Promise<JsonObject> {
    return await this.ask(`${ofKinds}/${path}`, question);
  }

  /** Who the key of the connection, or another one, speaks for. */
  async self(question: Pick<Question, 'key' | 'timeoutMs'> = {}, spec: JsonObject = {}): Promise<JsonObject> {
    const body = { apiVersion, kind: 'Self', spec };
    return await this.own('selves', { ...question, method: 'POST', body });
  }

  async send(path: string, question: Question): Promise<Answer> {
    const { method = 'GET', body, contentType = 'application/json', accept = 'application/json' } = question;
    const { baseURL, ca, key } = this.connection;
    const bearer = question.key ?? key;
    return await this.#context.send({
      method,
      url: `${baseURL}${path}`,
      headers: {
        accept,
        'user-agent': 'latchkey-cli',
        ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
        ...(body === undefined ? {} : { 'content-type': contentType }),
      },
      ...(body === undefined ? {} : { body: bodyText(body) }),
      ...(ca === undefined ? {} : { ca }),
      timeoutMs: question.timeoutMs ?? defaultTimeoutMs,
      signal: this.#context.signal,
    });
  }
}

const bodyText = (body: object): string =>
  body instanceof URLSearchParams ? body.toString() : JSON.stringify(body);
