import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { Attach, Cp, Exec, KubeConfig, PortForward, type V1Status } from '@kubernetes/client-node';
import { until } from '../../lab/operator/until.ts';

/** The sessions that client-node opens in a pod of `default`, over websockets. */
export class ClientNodeSessions {
  readonly #config = new KubeConfig();
  readonly #pod: string;

  constructor(kubeconfig: string, pod: string) {
    this.#config.loadFromFile(kubeconfig);
    this.#pod = pod;
  }

  /** Resolves with both outputs and the exit code that the status tells. */
  async exec(command: readonly string[], input: string) {
    const [out, problems] = [new PassThrough(), new PassThrough()];
    const { promise, resolve } = Promise.withResolvers<V1Status>();
    const texts = Promise.all([text(out), text(problems)]);
    await new Exec(this.#config).exec(
      ...this.#place,
      [...command],
      out,
      problems,
      Readable.from([input]),
      false,
      resolve,
    );
    const { status, details } = await promise;
    const [stdout, stderr] = await texts;
    const exitCode = status === 'Success' ? 0 : Number(details?.causes?.[0]?.message);
    return { stdout, stderr, exitCode };
  }

  /** Resolves with the output when the other side has ended. */
  async attach(input: string): Promise<string> {
    const out = new PassThrough();
    await new Attach(this.#config).attach(...this.#place, out, null, Readable.from([input]), false);
    return await text(out);
  }

  /** Sends that to a port, and resolves with what comes back, when it has so many characters. */
  async forward(port: number, input: string, length: number): Promise<string> {
    const [sent, received] = [new PassThrough(), new PassThrough()];
    let shown = '';
    received.on('data', (bytes: Buffer) => {
      shown += bytes.toString('latin1');
    });
    const socket = await new PortForward(this.#config).portForward(
      'default',
      this.#pod,
      [port],
      received,
      null,
      sent,
    );
    sent.write(input);
    await until('the answer', async () => shown.length >= length, { seen: () => shown.length });
    if (typeof socket !== 'function') socket.close();
    return shown;
  }

  /** Copies what is in one folder to another one in the pod, and the file there to a third. Resolves with its content. */
  async copy([from, there, back]: readonly [string, string, string], file: string): Promise<string> {
    const cp = new Cp(this.#config);
    const sent = await readFile(path.join(from, file), 'utf8');
    // It resolves before it begins, and tells no end.
    const arrived = (folder: string) => async () => {
      const content = await readFile(path.join(folder, file), 'utf8').catch(() => undefined);
      return content?.length === sent.length ? content : undefined;
    };
    await cp.cpToPod(...this.#place, from, there);
    await until('the file in the pod', arrived(there));
    await cp.cpFromPod(...this.#place, file, back, there);
    return await until('the file that came back', arrived(back));
  }

  get #place(): [string, string, string] {
    return ['default', this.#pod, 'main'];
  }
}
