import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { allCredentialKinds } from '../../api/credential-kinds.ts';
import { ControllerMetrics } from './controllers.ts';
import { EndingMetrics } from './endings.ts';
import { InformerMetrics } from './informers.ts';
import { LockMetrics } from './locks.ts';

/** Metrics of the operator besides those of every process. No label ever holds a secret or the name of an object. */
export class OperatorMetrics {
  readonly controllers: ControllerMetrics;
  readonly informers: InformerMetrics;
  readonly leader: Gauge;
  readonly credentials: Gauge<'kind' | 'state'>;
  readonly ending: EndingMetrics;
  readonly locks: LockMetrics;
  readonly targets: Gauge<'kind' | 'state'>;
  readonly expiryWaiting: Gauge;
  readonly endDelay: Histogram<'kind'>;
  readonly finalizersReleased: Counter<'kind'>;
  readonly revocationsPending: Gauge<'reason'>;
  readonly eventsDropped: Counter;
  readonly signingKeyCreated: Gauge;
  readonly signingKeyRotation: Gauge;
  readonly gatewayCertificateEnd: Gauge;
  readonly admission: ReturnType<typeof admissionGauges>;
  readonly sitePolicyUnreadable: Gauge;

  constructor(registry: Registry) {
    const registers = [registry];
    const gauge: NewGauge = (name, help) => new Gauge({ registers, name, help });
    const byState = (name: string, help: string) =>
      new Gauge({ registers, name, help, labelNames: ['kind', 'state'] });
    this.controllers = new ControllerMetrics(registry);
    this.informers = new InformerMetrics(registry);
    this.leader = gauge('latchkey_leader', '1 while this process leads, else 0.');
    this.credentials = byState(
      'latchkey_credentials',
      'Credential objects by kind and by the reason of their Ready condition.',
    );
    this.ending = new EndingMetrics(registry);
    this.locks = new LockMetrics(registry);
    this.targets = byState(
      'latchkey_targets',
      'Virtual cluster instances, spaces and clusters by kind and by the reason of their Ready condition.',
    );
    this.expiryWaiting = gauge(
      'latchkey_expiry_budget_waiting',
      'Ended credentials that wait for the budget of writes. They are refused already.',
    );
    this.endDelay = endDelay(registers);
    this.finalizersReleased = new Counter({
      registers,
      name: 'latchkey_finalizers_released_total',
      help: 'Finalizers given up at their time limit, with something left behind.',
      labelNames: ['kind'],
    });
    this.revocationsPending = revocationsPending(registers);
    this.eventsDropped = new Counter({
      registers,
      name: 'latchkey_events_dropped_total',
      help: 'Events not written: the API server refused them, or the process ended before.',
    });
    this.signingKeyCreated = gauge(
      'latchkey_signing_key_created_timestamp_seconds',
      'When the key that signs tokens now was made, in seconds of the Unix epoch; 0 before there is one.',
    );
    this.signingKeyRotation = gauge(
      'latchkey_signing_key_rotation_timestamp_seconds',
      'When the key that signs tokens now is due to be replaced, in seconds of the Unix epoch; 0 before there is one.',
    );
    this.gatewayCertificateEnd = gatewayCertificateEnd(gauge);
    this.admission = admissionGauges(gauge);
    this.sitePolicyUnreadable = gauge(
      'latchkey_site_policy_unreadable',
      'Entries of the site policy that are unknown or cannot be read. They count as the strictest value.',
    );
  }

  /**
   * A process that does not lead knows nothing of the objects: figures that stayed would be counted twice, here and at
   * the next leader.
   */
  endTerm(): void {
    this.controllers.clear();
    this.informers.clear();
    this.ending.clear();
    this.locks.clear();
    for (const gauge of [this.credentials, this.targets, this.revocationsPending]) gauge.reset();
    const { leader, expiryWaiting, signingKeyCreated, signingKeyRotation, gatewayCertificateEnd } = this;
    const single = [leader, expiryWaiting, signingKeyCreated, signingKeyRotation, gatewayCertificateEnd];
    for (const gauge of [...single, this.sitePolicyUnreadable]) gauge.set(0);
  }
}

type NewGauge = (name: string, help: string) => Gauge;

/** Every series exists from the start, with 0, so that rates are right. */
function endDelay(registers: Registry[]): Histogram<'kind'> {
  const histogram = new Histogram({
    registers,
    name: 'latchkey_credential_end_delay_seconds',
    help: 'Time from the end of a credential, or from the news that someone disabled it, to the write that records it. It is refused already.',
    labelNames: ['kind'],
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600],
  });
  for (const kind of allCredentialKinds) histogram.zero({ kind });
  return histogram;
}

const revocationsPending = (registers: Registry[]) =>
  new Gauge({
    registers,
    name: 'latchkey_revocations_pending',
    help: 'Deleted kubeconfigs whose client certificates may still work, by why they could not be revoked yet.',
    labelNames: ['reason'],
  });

const gatewayCertificateEnd = (gauge: NewGauge) =>
  gauge(
    'latchkey_gateway_certificate_end_timestamp_seconds',
    'When the certificate in the Secret `latchkey-gateway-tls` ends, in seconds of the Unix epoch; 0 before it is known.',
  );

const admissionGauges = (gauge: NewGauge) => ({
  missing: gauge(
    'latchkey_admission_missing',
    'Shipped admission policies and bindings that protect security and are not on the API server, or not as shipped. The operator waits while it is not 0.',
  ),
  comfortMissing: gauge(
    'latchkey_admission_comfort_missing',
    'The same of those for comfort. Nothing waits for them.',
  ),
  unknown: gauge(
    'latchkey_admission_unknown',
    'Admission policies and bindings of Latchkey that this release does not have. They still refuse requests: remove them.',
  ),
});
