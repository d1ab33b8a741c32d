import { fieldManager, labels, purposes, systemNamespace, systemObjects } from '../../api/names.ts';
import { secrets } from '../../api/resources.ts';
import {
  type CertificatePair,
  createAuthority,
  createServingCertificate,
  type Validity,
} from '../../credentials/certificates/serving-certificate.ts';
import { LatchkeyError } from '../../errors.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { ignoreNotFound } from '../../kube/kube-error.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { WorkResult } from '../../kube/queue/workers.ts';
import type { Logger } from '../../logger.ts';
import { requeueAt } from '../shared/controller.ts';
import type { GatewayAuthority } from './gateway-authority.ts';
import {
  type AuthorityWrite,
  type CertificateStep,
  lives,
  planCertificate,
  servedHosts,
  servingName,
} from './plan-certificate.ts';
import { authorityName, type StoredAuthority, type StoredServing } from './stored-certificate.ts';

export interface GatewayCertificateControllerOptions {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'replace'>;
  /** Is told what vouches for the gateway. */
  readonly published: GatewayAuthority;
  readonly baseURL: string;
  readonly now: () => number;
  readonly log: Logger;
  /** Called with the end of the certificate that the gateway serves with, for metrics. Undefined: it cannot be read. */
  readonly onEnd: (end: number | undefined) => void;
}

interface StoredSecret extends KubeObject {
  readonly type?: string;
  readonly data?: Readonly<Record<string, string>>;
}

/** As they are on the API server. Undefined: there is none. */
interface StoredSecrets {
  readonly authority: StoredSecret | undefined;
  readonly serving: StoredSecret | undefined;
}

type Write = Extract<CertificateStep, { step: 'writeAuthority' | 'issue' }>;
type Entries = Readonly<Record<string, string>>;

const keptSecrets = {
  authority: { name: systemObjects.gatewayAuthority, purpose: purposes.gatewayAuthority },
  serving: { name: systemObjects.gatewayCertificate, purpose: purposes.gatewayCertificate },
} as const;
type KeptSecret = keyof typeof keptSecrets;
const type = 'kubernetes.io/tls';

/** Keeps the certificate that the gateway serves with, and the authority that signs it, each in its Secret. */
export class GatewayCertificateController {
  readonly #options: GatewayCertificateControllerOptions;

  constructor(options: GatewayCertificateControllerOptions) {
    this.#options = options;
  }

  /** Throws ERR_GATEWAY_AUTHORITY where it would have to write over what it did not make. */
  async reconcile(): Promise<WorkResult | undefined> {
    const [authority, serving] = await Promise.all([this.#read('authority'), this.#read('serving')]);
    return this.#advance({ authority, serving }, []);
  }

  #read(kept: KeptSecret): Promise<StoredSecret | undefined> {
    const { name } = keptSecrets[kept];
    return this.#options.client
      .get<StoredSecret>(secrets, { namespace: systemNamespace, name })
      .catch(ignoreNotFound);
  }

  /** `done`: steps that this reconcile has taken. */
  async #advance(stored: StoredSecrets, done: readonly string[]): Promise<WorkResult | undefined> {
    const step = this.#plan(stored);
    // A Secret that does not keep what was written must not have certificates made in a loop.
    if (done.includes(step.step))
      throw new RangeError(`the policy for the certificate of the gateway repeats the step ${step.step}`);
    switch (step.step) {
      case 'leave':
        return this.#leave(step);
      case 'refuse':
        throw new LatchkeyError('ERR_GATEWAY_AUTHORITY', { secret: keptSecrets.authority.name });
      case 'keep':
        return this.#keep(step);
      default:
        return this.#advance(await this.#carryOut(stored, step), [...done, step.step]);
    }
  }

  #plan({ authority, serving }: StoredSecrets): CertificateStep {
    const { baseURL, now } = this.#options;
    return planCertificate({
      authority: authority && readAuthority(authority),
      serving: serving && readServing(serving),
      hosts: servedHosts(baseURL),
      now: now(),
    });
  }

  #leave({ end }: Extract<CertificateStep, { step: 'leave' }>): undefined {
    const { published, onEnd, log } = this.#options;
    log.info({ secret: keptSecrets.serving.name }, 'the gateway has a certificate of your own');
    onEnd(end);
    published.publish({ earlierCAs: [] });
  }

  #keep({ trust, end, recheckAt }: Extract<CertificateStep, { step: 'keep' }>): WorkResult | undefined {
    const { published, onEnd, now } = this.#options;
    onEnd(end);
    published.publish(trust);
    return requeueAt(recheckAt, now());
  }

  async #carryOut(stored: StoredSecrets, step: Write): Promise<StoredSecrets> {
    const { log } = this.#options;
    if (step.step === 'writeAuthority') {
      const authority = await this.#write('authority', stored.authority, this.#authorityEntries(step.write));
      log.info({ reason: step.reason }, 'the authority of the gateway was written');
      return { ...stored, authority };
    }
    const serving = await this.#write('serving', stored.serving, this.#servingEntries(step));
    log.info({ reason: step.reason }, 'the certificate of the gateway was issued');
    return { ...stored, serving };
  }

  #authorityEntries({ current, next, former }: AuthorityWrite): Entries {
    const make = () => createAuthority(authorityName, this.#validity(lives.authority));
    const signer = current === 'new' ? make() : current;
    const announced = next === undefined ? undefined : make();
    return {
      'tls.crt': signer.certificate,
      'tls.key': signer.privateKey,
      ...(announced && { 'next.crt': announced.certificate, 'next.key': announced.privateKey }),
      ...(former === '' ? {} : { 'former.crt': former }),
    };
  }

  #servingEntries({ signer, ca }: Extract<CertificateStep, { step: 'issue' }>): Entries {
    const { certificate, privateKey } = createServingCertificate(
      { ...signer, name: authorityName },
      {
        subject: servingName,
        hosts: servedHosts(this.#options.baseURL),
        validity: this.#validity(lives.serving),
      },
    );
    return { 'tls.crt': certificate, 'tls.key': privateKey, 'ca.crt': ca };
  }

  #validity(lifeMs: number): Validity {
    const now = this.#options.now();
    return { from: now - lives.backdate, until: now + lifeMs };
  }

  /** Creating, and replacing with a resourceVersion, let one of two writers win: the other fails and reads what is there. */
  #write(kept: KeptSecret, present: StoredSecret | undefined, entries: Entries): Promise<StoredSecret> {
    const { client } = this.#options;
    const { name, purpose } = keptSecrets[kept];
    const metadata = { namespace: systemNamespace, name, labels: { [labels.purpose]: purpose } };
    const data = Object.fromEntries(Object.entries(entries).map(([entry, text]) => [entry, encode(text)]));
    const secret = { apiVersion: 'v1', kind: 'Secret', type, metadata, data };
    if (present === undefined)
      return client.create<StoredSecret>(secrets, secret, { namespace: systemNamespace, fieldManager });
    const { uid, resourceVersion } = present.metadata;
    // A restored Secret may have another type, which cannot change.
    const replacement = {
      ...secret,
      type: present.type,
      metadata: { ...metadata, uid, resourceVersion },
    };
    return client.replace<StoredSecret>(secrets, { namespace: systemNamespace, name }, replacement, {
      fieldManager,
    });
  }
}

function readServing(secret: StoredSecret): StoredServing {
  return { isOurs: isOurs(secret, 'serving'), ...readPair(secret, 'tls'), ca: read(secret, 'ca.crt') };
}

function readAuthority(secret: StoredSecret): StoredAuthority {
  const next = readPair(secret, 'next');
  const former = read(secret, 'former.crt');
  return { isOurs: isOurs(secret, 'authority'), ...readPair(secret, 'tls'), next, former };
}

const readPair = (secret: StoredSecret, name: 'tls' | 'next'): CertificatePair => ({
  certificate: read(secret, `${name}.crt`),
  privateKey: read(secret, `${name}.key`),
});

const isOurs = ({ type: found, metadata }: StoredSecret, kept: KeptSecret): boolean =>
  found === type && metadata.labels?.[labels.purpose] === keptSecrets[kept].purpose;

const encode = (text: string): string => Buffer.from(text).toString('base64');
const read = ({ data }: StoredSecret, entry: string): string =>
  Buffer.from(data?.[entry] ?? '', 'base64').toString();
