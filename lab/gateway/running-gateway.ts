import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Agent, type Dispatcher, request } from 'undici';
import type { ControlPlaneAccess } from '../controlplane/access.ts';
import { createAuthority, createServer, type Identity } from '../controlplane/certificates.ts';
import type { Guard, GuardedProcess } from '../controlplane/guard.ts';
import { base64, writeKubeconfig } from '../controlplane/kubeconfig.ts';
import { shippedNodeOptions } from '../operator/node-options.ts';
import { currentProgram } from '../operator/program.ts';
import { accountKubeconfig, baseURL } from '../operator/running-operator.ts';
import { until } from '../operator/until.ts';

export interface GatewayOptions {
  /** Unique within the guard. */
  readonly name?: string;
  /** Settings, added to those that make it run here. */
  readonly env?: Readonly<Record<string, string>>;
  /** Default: the gateway itself. */
  readonly command?: 'gateway' | 'direct-endpoint';
  /** With the credentials of its account. Default: one for this control plane. */
  readonly kubeconfig?: string;
  /** Default: one for 127.0.0.1 and localhost, of an authority of its own. */
  readonly certificate?: ServedCertificate;
  /** Default: 60 000. With 100,000 credentials it takes longer on a busy machine. */
  readonly readyTimeoutMs?: number;
  /** Its standard output is a pipe that is read until it listens for requests, and then no more. */
  readonly unread?: boolean;
}

/** PEM. */
export interface ServedCertificate extends Identity {
  /** The authority that clients have to trust. */
  readonly ca: string;
}

interface Place {
  readonly process: GuardedProcess;
  readonly folder: string;
  /** The authority of its certificate, PEM. */
  readonly ca: string;
}

/** The real gateway as a process of its own, under its own ServiceAccount and with its own roles only. */
export class RunningGateway {
  readonly process: GuardedProcess;
  readonly ca: string;
  readonly #folder: string;
  readonly #agent: Agent;
  #exited = false;
  #port = 0;
  readonly #ports = new Map<string, number>();

  /** Resolves when it is ready. config/default must be applied. */
  static async start(
    plane: ControlPlaneAccess,
    guard: Guard,
    options: GatewayOptions = {},
  ): Promise<RunningGateway> {
    const { name = 'gateway', command = 'gateway', env = {}, kubeconfig } = options;
    const { certificate, key, ca } = options.certificate ?? newCertificate();
    const tlsFolder = path.join(guard.folder, `tls-${name}`);
    await mkdir(tlsFolder, { recursive: true });
    await writeFile(path.join(tlsFolder, 'tls.crt'), certificate);
    await writeFile(path.join(tlsFolder, 'tls.key'), key, { mode: 0o600 });
    const program = currentProgram();
    const process = await guard.run({
      name,
      ...commandLine([globalThis.process.execPath, program.file, command], options),
      env: {
        ...program.env,
        NODE_OPTIONS: shippedNodeOptions(command),
        KUBECONFIG: kubeconfig ?? (await accountKubeconfig(plane, 'latchkey-gateway')),
        LATCHKEY_BASE_URL: baseURL,
        LATCHKEY_LISTEN_ADDRESS: '127.0.0.1:0',
        LATCHKEY_HEALTH_ADDRESS: '127.0.0.1:0',
        LATCHKEY_METRICS_ADDRESS: '127.0.0.1:0',
        LATCHKEY_TLS_FOLDER: tlsFolder,
        LATCHKEY_SHUTDOWN_DELAY: '0s',
        ...env,
      },
    });
    const gateway = new RunningGateway({ process, folder: guard.folder, ca });
    await Promise.race([gateway.#death(), gateway.#untilReady(name, options.readyTimeoutMs)]);
    return gateway;
  }

  private constructor({ process, folder, ca }: Place) {
    this.process = process;
    this.ca = ca;
    this.#folder = folder;
    this.#agent = new Agent({ connect: { ca } });
    void process.exited.then(() => {
      this.#exited = true;
    });
  }

  /** `https://127.0.0.1:<port>` */
  get url(): string {
    return `https://127.0.0.1:${this.#port}`;
  }

  get port(): number {
    return this.#port;
  }

  /** Reads the log so far. */
  async log(): Promise<string> {
    return await readFile(this.process.logPath, 'utf8');
  }

  /** Sends a request; the path begins behind the base URL. */
  async send(
    path: string,
    options: Omit<Dispatcher.RequestOptions, 'path' | 'method'> & {
      readonly method?: Dispatcher.HttpMethod;
      /** Sent as `Authorization: Bearer`. */
      readonly key?: string;
    } = {},
  ): Promise<Dispatcher.ResponseData> {
    const { key, headers = {}, ...rest } = options;
    const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` };
    return await request(this.url + path, {
      ...rest,
      headers: { ...authorization, ...(headers as Record<string, string>) },
      dispatcher: this.#agent,
    });
  }

  /** Writes a kubeconfig with which kubectl goes through the gateway. Returns its path. */
  async kubeconfig(key: string, target = 'management'): Promise<string> {
    const server = `${this.url}/kubernetes/${target}`;
    const place = { name: 'gateway', server, caData: base64(this.ca), folder: this.#folder };
    return await writeKubeconfig(place, 'holder', { token: key });
  }

  /** The port that its log names. */
  async listeningPort(purpose: 'requests' | 'health' | 'metrics' | 'page'): Promise<number> {
    const known = this.#ports.get(purpose);
    if (known !== undefined) return known;
    const look = async () => {
      const lines = (await this.log()).split('\n').filter((line) => line.includes('"msg":"listening"'));
      return lines.map((line) => JSON.parse(line)).find((line) => line.purpose === purpose)?.port as number;
    };
    const port = await until(`the address for ${purpose}`, look, startLimit);
    this.#ports.set(purpose, port);
    return port;
  }

  /** Asks `/readyz` and the like. */
  async health(pathname: string): Promise<{ readonly status: number; readonly text: string }> {
    const port = await this.listeningPort('health');
    const { statusCode, body } = await request(`http://127.0.0.1:${port}${pathname}`);
    return { status: statusCode, text: await body.text() };
  }

  /** Whether it has ended. */
  get exited(): boolean {
    return this.#exited;
  }

  /** Sends the signal, unless the process has ended already, and waits for the exit code. */
  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<number> {
    await this.#agent.destroy();
    try {
      if (!this.#exited) process.kill(this.process.pid, signal);
    } catch (error) {
      // It has just ended, and no event has said so yet.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
    return await this.process.exited;
  }

  async #death(): Promise<never> {
    await this.process.exited;
    throw new Error(`the gateway ended: ${(await this.log()).slice(-2_000)}`);
  }

  async #untilReady(name: string, timeoutMs = startLimit.timeoutMs): Promise<void> {
    let last: string | undefined;
    const ready = async () => {
      const { status, text } = await this.health('/readyz');
      last = text;
      return status === 200;
    };
    // It listens for requests only once the API server knows its kinds.
    await until(`${name} is ready`, ready, { timeoutMs, seen: () => last });
    this.#port = await this.listeningPort('requests');
  }
}

/** From the sources it starts in a second, and on a busy machine in twenty. */
const startLimit = { timeoutMs: 60_000 };

const readUntilItListens = 'exec "$@" > >(sed -u \'/"purpose":"requests"/q\'; exec sleep infinity)';

function commandLine(words: readonly [string, ...string[]], { unread = false }: GatewayOptions) {
  const [command, ...args] = words;
  return unread ? { command: 'bash', args: ['-c', readUntilItListens, 'bash', ...words] } : { command, args };
}

function newCertificate(): ServedCertificate {
  const authority = createAuthority('gateway-ca');
  return { ...createServer(authority, ['localhost']), ca: authority.certificate };
}
