import { describe, expect, it } from 'vitest';
import { Metrics } from './metrics.ts';

const textOf = ({ registry }: Metrics) => registry.metrics();

describe('Metrics', () => {
  it('has every series of a controller from the start, with 0', async () => {
    const metrics = new Metrics();
    metrics.forController('ownedaccesskey').readDepth(() => 0);
    const text = await textOf(metrics);
    for (const series of [
      'latchkey_reconcile_total{controller="ownedaccesskey",outcome="success"} 0',
      'latchkey_reconcile_total{controller="ownedaccesskey",outcome="error"} 0',
      'latchkey_reconcile_duration_seconds_count{controller="ownedaccesskey"} 0',
      'latchkey_workqueue_depth{controller="ownedaccesskey"} 0',
      'latchkey_workqueue_adds_total{controller="ownedaccesskey"} 0',
      'latchkey_workqueue_retries_total{controller="ownedaccesskey"} 0',
      'latchkey_leader 0',
      'latchkey_events_dropped_total 0',
    ]) {
      expect(text).toContain(series);
    }
  });

  it('counts and times reconciles, and reads the queue at the time of the scrape', async () => {
    const metrics = new Metrics();
    const controller = metrics.forController('a');
    let depth = 1;
    controller.readDepth(() => depth);
    controller.added();
    controller.retried();
    controller.reconciled('error', 0.004);
    depth = 7;
    const text = await textOf(metrics);
    expect(text).toContain('latchkey_reconcile_total{controller="a",outcome="error"} 1');
    expect(text).toContain('latchkey_reconcile_duration_seconds_bucket{le="0.005",controller="a"} 1');
    expect(text).toContain('latchkey_workqueue_adds_total{controller="a"} 1');
    expect(text).toContain('latchkey_workqueue_retries_total{controller="a"} 1');
    expect(text).toContain('latchkey_workqueue_depth{controller="a"} 7');
  });

  it('reads reflectors at the time of the scrape and counts their restarts', async () => {
    const metrics = new Metrics();
    const reflector = metrics.forReflector('secrets');
    reflector.read(
      () => 12,
      () => 0.5,
    );
    reflector.restarted();
    const text = await textOf(metrics);
    expect(text).toContain('latchkey_reflector_objects{resource="secrets"} 12');
    expect(text).toContain('latchkey_reflector_freshness_seconds{resource="secrets"} 0.5');
    expect(text).toContain('latchkey_reflector_restarts_total{resource="secrets"} 1');
  });

  it('counts and times requests', async () => {
    const metrics = new Metrics();
    metrics.clientRequest({ verb: 'create', resource: 'secrets', code: 201, seconds: 0.02 });
    const text = await textOf(metrics);
    expect(text).toContain('latchkey_client_requests_total{verb="create",resource="secrets",code="201"} 1');
    expect(text).toContain(
      'latchkey_client_request_duration_seconds_sum{verb="create",resource="secrets"} 0.02',
    );
  });

  it('keeps the newest reading when a part is made again', async () => {
    const metrics = new Metrics();
    metrics.forController('a').readDepth(() => 1);
    metrics.forController('a').readDepth(() => 2);
    expect((await textOf(metrics)).match(/latchkey_workqueue_depth\{.*/g)).toEqual([
      'latchkey_workqueue_depth{controller="a"} 2',
    ]);
  });

  it('forgets at the end of a term what only the leader knows, and keeps what it has counted', async () => {
    const metrics = new Metrics();
    const controller = metrics.forController('a');
    controller.readDepth(() => 3);
    controller.reconciled('success', 0.1);
    metrics.forReflector('b').read(
      () => 12,
      () => 0.5,
    );
    metrics.leader.set(1);
    metrics.credentials.set({ kind: 'OwnedAccessKey', state: 'Issued' }, 5);
    metrics.expiryWaiting.set(6);
    metrics.signingKeyCreated.set(7);
    metrics.signingKeyRotation.set(8);
    await textOf(metrics);
    metrics.endTerm();
    const text = await textOf(metrics);
    for (const gone of ['workqueue_depth', 'reflector_objects', 'reflector_freshness_seconds', 'credentials'])
      expect(text).not.toContain(`latchkey_${gone}{`);
    for (const zero of [
      'latchkey_leader 0',
      'latchkey_expiry_budget_waiting 0',
      'latchkey_signing_key_created_timestamp_seconds 0',
      'latchkey_signing_key_rotation_timestamp_seconds 0',
    ])
      expect(text).toContain(zero);
    expect(text).toContain('latchkey_reconcile_total{controller="a",outcome="success"} 1');
  });

  it('adds the figures of the process when asked to', async () => {
    const metrics = new Metrics();
    metrics.watchProcess('1.2.3');
    const text = await textOf(metrics);
    expect(text).toMatch(/latchkey_build_info\{version="1\.2\.3",node="2[\d.]+"\} 1/);
    expect(text).toContain('process_cpu_seconds_total');
  });

  it('has its own registry, so that two of them do not mix', async () => {
    const [one, other] = [new Metrics(), new Metrics()];
    one.leader.set(1);
    expect(await textOf(other)).toContain('latchkey_leader 0');
  });

  it('names every metric in the house form and explains it', () => {
    for (const { name, help } of new Metrics().registry.getMetricsAsArray()) {
      expect(name).toMatch(/^latchkey_[a-z_]+$/);
      expect(help).toMatch(/\.$/);
    }
  });
});
