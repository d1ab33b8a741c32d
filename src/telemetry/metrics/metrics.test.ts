import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { ClientMetrics } from './client.ts';
import { OperatorMetrics } from './operator.ts';
import { watchProcess } from './process.ts';

function start() {
  const registry = new Registry();
  const client = new ClientMetrics(registry);
  return { registry, client, metrics: new OperatorMetrics(registry), text: () => registry.metrics() };
}

describe('the metrics of an operator', () => {
  it('has every series of a controller from the start, with 0', async () => {
    const { metrics, text: textOf } = start();
    metrics.controllers.for('ownedaccesskey').readDepth(() => 0);
    const text = await textOf();
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
    const { metrics, text: textOf } = start();
    const controller = metrics.controllers.for('a');
    let depth = 1;
    controller.readDepth(() => depth);
    controller.added();
    controller.retried();
    controller.reconciled('error', 0.004);
    depth = 7;
    const text = await textOf();
    expect(text).toContain('latchkey_reconcile_total{controller="a",outcome="error"} 1');
    expect(text).toContain('latchkey_reconcile_duration_seconds_bucket{le="0.005",controller="a"} 1');
    expect(text).toContain('latchkey_workqueue_adds_total{controller="a"} 1');
    expect(text).toContain('latchkey_workqueue_retries_total{controller="a"} 1');
    expect(text).toContain('latchkey_workqueue_depth{controller="a"} 7');
  });

  it('reads reflectors at the time of the scrape and counts their restarts', async () => {
    const { metrics, text: textOf } = start();
    const reflector = metrics.informers.for('secrets');
    reflector.read(
      () => 12,
      () => 0.5,
    );
    reflector.restarted();
    const text = await textOf();
    expect(text).toContain('latchkey_reflector_objects{resource="secrets"} 12');
    expect(text).toContain('latchkey_reflector_freshness_seconds{resource="secrets"} 0.5');
    expect(text).toContain('latchkey_reflector_restarts_total{resource="secrets"} 1');
  });

  it('counts and times requests', async () => {
    const { client, text: textOf } = start();
    client.observe({ method: 'create', resource: { plural: 'secrets' }, status: 201, durationMs: 20 });
    client.observe({ method: 'get', status: 0, durationMs: 5_000 });
    const text = await textOf();
    expect(text).toContain('latchkey_client_requests_total{verb="create",resource="secrets",code="201"} 1');
    expect(text).toContain(
      'latchkey_client_request_duration_seconds_sum{verb="create",resource="secrets"} 0.02',
    );
    expect(text).toContain('latchkey_client_requests_total{verb="get",resource="none",code="0"} 1');
  });

  it('times ends by kind, from 10 milliseconds to 10 minutes', async () => {
    const { metrics, text: textOf } = start();
    const name = 'latchkey_credential_end_delay_seconds';
    expect(await textOf()).toContain(`${name}_count{kind="OwnedAccessKey"} 0`);
    metrics.endDelay.observe({ kind: 'OwnedAccessKey' }, 0.004);
    metrics.endDelay.observe({ kind: 'OwnedAccessKey' }, 599);
    const text = await textOf();
    expect(text).toContain(`${name}_bucket{le="0.01",kind="OwnedAccessKey"} 1`);
    expect(text).toContain(`${name}_bucket{le="300",kind="OwnedAccessKey"} 1`);
    expect(text).toContain(`${name}_bucket{le="600",kind="OwnedAccessKey"} 2`);
    expect(text).toContain(`${name}_count{kind="DirectClusterEndpointToken"} 0`);
  });

  it('counts at the time of the scrape what ends within an hour, a day and a week', async () => {
    const { metrics, text: textOf } = start();
    let perHour = 0;
    metrics.ending.read((kind, spanMs) => (kind === 'OwnedAccessKey' ? (perHour * spanMs) / 3_600_000 : 0));
    perHour = 2;
    const text = await textOf();
    expect(text.match(/^latchkey_credentials_ending\{kind="(?:Owned|Direct).*/gm)).toEqual([
      'latchkey_credentials_ending{kind="OwnedAccessKey",within="1h"} 2',
      'latchkey_credentials_ending{kind="OwnedAccessKey",within="24h"} 48',
      'latchkey_credentials_ending{kind="OwnedAccessKey",within="7d"} 336',
      'latchkey_credentials_ending{kind="DirectClusterEndpointToken",within="1h"} 0',
      'latchkey_credentials_ending{kind="DirectClusterEndpointToken",within="24h"} 0',
      'latchkey_credentials_ending{kind="DirectClusterEndpointToken",within="7d"} 0',
    ]);
  });

  it('keeps the newest reading when a part is made again', async () => {
    const { metrics, text: textOf } = start();
    metrics.controllers.for('a').readDepth(() => 1);
    metrics.controllers.for('a').readDepth(() => 2);
    expect((await textOf()).match(/latchkey_workqueue_depth\{.*/g)).toEqual([
      'latchkey_workqueue_depth{controller="a"} 2',
    ]);
  });

  it('forgets at the end of a term what only the leader knows, and keeps what it has counted', async () => {
    const { metrics, text: textOf } = start();
    const controller = metrics.controllers.for('a');
    controller.readDepth(() => 3);
    controller.readWaitingForSlot(() => 4);
    controller.reconciled('success', 0.1);
    metrics.informers.for('b').read(
      () => 12,
      () => 0.5,
    );
    metrics.leader.set(1);
    metrics.credentials.set({ kind: 'OwnedAccessKey', state: 'Issued' }, 5);
    metrics.ending.read(() => 1);
    metrics.expiryWaiting.set(6);
    metrics.locks.stated.set({ selector: 'user', state: 'InForce' }, 1);
    metrics.locks.waiting.set(6);
    metrics.signingKeyCreated.set(7);
    metrics.signingKeyRotation.set(8);
    metrics.gatewayCertificateEnd.set(9);
    await textOf();
    metrics.endTerm();
    const text = await textOf();
    const workqueue = ['workqueue_depth', 'workqueue_waiting_for_slot'];
    const reflector = ['reflector_objects', 'reflector_freshness_seconds'];
    for (const gone of [...workqueue, ...reflector, 'credentials', 'credentials_ending', 'locks'])
      expect(text).not.toContain(`latchkey_${gone}{`);
    for (const zero of [
      'latchkey_leader 0',
      'latchkey_expiry_budget_waiting 0',
      'latchkey_lock_budget_waiting 0',
      'latchkey_signing_key_created_timestamp_seconds 0',
      'latchkey_signing_key_rotation_timestamp_seconds 0',
      'latchkey_gateway_certificate_end_timestamp_seconds 0',
    ])
      expect(text).toContain(zero);
    expect(text).toContain('latchkey_reconcile_total{controller="a",outcome="success"} 1');
  });

  it('adds the figures of the process when asked to', async () => {
    const { registry, text: textOf } = start();
    watchProcess(registry, '1.2.3');
    const text = await textOf();
    expect(text).toMatch(/latchkey_build_info\{version="1\.2\.3",node="2[\d.]+"\} 1/);
    expect(text).toContain('process_cpu_seconds_total');
  });

  it('has its own registry, so that two of them do not mix', async () => {
    const [one, other] = [start(), start()];
    one.metrics.leader.set(1);
    expect(await other.text()).toContain('latchkey_leader 0');
  });

  it('names every metric in the house form and explains it', () => {
    for (const { name, help } of start().registry.getMetricsAsArray()) {
      expect(name).toMatch(/^latchkey_[a-z_]+$/);
      expect(help).toMatch(/\.$/);
    }
  });
});
