import path from 'node:path';
import type { ControlPlaneAccess } from '../controlplane/access.ts';
import { createAuthority, createServer } from '../controlplane/certificates.ts';
import type { Guard } from '../controlplane/guard.ts';
import { freePort } from '../controlplane/ports.ts';
import { balancerAddress, startBalancer } from './balancer.ts';
import { RunningGateway, type ServedCertificate } from './running-gateway.ts';

const replicas = 2;

interface Place {
  readonly port: number;
  readonly healthPort: number;
}

interface BalancedOptions {
  readonly plane: ControlPlaneAccess;
  readonly guard: Guard;
  /** Settings, added to those that lead through the balancer. */
  readonly env: Readonly<Record<string, string>>;
  /** Where each replica writes its audit log. Default: it writes none. */
  readonly auditFolder?: string;
}

/** The audit log of a replica, the first of which is 0. */
export const auditLogIn = (folder: string, index: number): string => path.join(folder, `audit-${index}.log`);

/** Two replicas of the gateway behind haproxy, as a Deployment has them behind a Service. Call `end`. */
export class BalancedReplicas {
  /** The authority that clients have to trust, PEM. */
  readonly ca: string;
  /** Of the balancer: `https://127.0.0.1:<port>` */
  readonly url: string;
  readonly port: number;
  readonly #options: BalancedOptions;
  readonly #certificate: ServedCertificate;
  readonly #places: readonly Place[];
  readonly #running: RunningGateway[] = [];
  #started = 0;

  static async start(options: BalancedOptions): Promise<BalancedReplicas> {
    const places: Place[] = [];
    // The replicas that come first, and the ones that follow them.
    for (let count = 0; count < 2 * replicas; count += 1)
      places.push({ port: await freePort(), healthPort: await freePort() });
    const all = new BalancedReplicas(options, places, await startBalancer(options.guard, places));
    for (let count = 0; count < replicas; count += 1) await all.#startNext();
    return all;
  }

  private constructor(options: BalancedOptions, places: readonly Place[], port: number) {
    const authority = createAuthority('balanced');
    this.#certificate = { ...createServer(authority, ['localhost']), ca: authority.certificate };
    this.ca = authority.certificate;
    this.url = `https://127.0.0.1:${port}`;
    this.port = port;
    this.#options = options;
    this.#places = places;
  }

  /** Starts another replica and ends an old one, for each of them. @throws Error when one ends with another code than 0. */
  async rollOut(): Promise<void> {
    for (const old of this.#running.slice()) {
      await this.#startNext();
      process.kill(old.process.pid, 'SIGTERM');
      const code = await old.process.exited;
      if (code !== 0) throw new Error(`a replica ended with ${code}: ${(await old.log()).slice(-2_000)}`);
    }
  }

  async end(): Promise<void> {
    await Promise.all(this.#running.map((gateway) => gateway.end()));
  }

  async #startNext(): Promise<void> {
    const { plane, guard, env, auditFolder } = this.#options;
    const index = this.#started++;
    const { port, healthPort } = this.#places[index] as Place;
    const settings = {
      LATCHKEY_LISTEN_ADDRESS: `127.0.0.1:${port}`,
      LATCHKEY_HEALTH_ADDRESS: `127.0.0.1:${healthPort}`,
      LATCHKEY_TRUSTED_PROXIES: `${balancerAddress}/32`,
      LATCHKEY_PROXY_PROTOCOL: 'required',
      ...(auditFolder && {
        LATCHKEY_AUDIT: 'best-effort',
        LATCHKEY_AUDIT_LOG: auditLogIn(auditFolder, index),
      }),
      ...env,
    };
    const certificate = this.#certificate;
    this.#running.push(
      await RunningGateway.start(plane, guard, { name: `replica-${index}`, env: settings, certificate }),
    );
  }
}
