import type { Scenario } from '../../prometheus/prometheus.ts';

export type TargetName = 'leader' | 'standby' | 'gateway';

const day = 86_400;

const on = (target: TargetName, ...series: readonly string[]): Scenario => ({ series: { [target]: series } });

/** Lists what must fire an alert, and nothing else. `start`: seconds of the Unix epoch. */
export const troubles = (start: number): readonly (readonly [string, string, Scenario])[] => [
  ['LatchkeyNoLeader', 'the standby does not take over', { gone: ['leader'] }],
  ['LatchkeyNoLeader', 'no operator is scraped', { gone: ['leader', 'standby'] }],
  ['LatchkeySeveralLeaders', 'the standby leads too', on('standby', 'latchkey_leader 0 1')],
  ['LatchkeyAdmissionMissing', 'a policy was deleted', on('leader', 'latchkey_admission_missing 0 2')],
  ['LatchkeyAdmissionUnknown', 'a policy was left behind', on('standby', 'latchkey_admission_unknown 0 1')],
  [
    'LatchkeySitePolicyUnreadable',
    'an entry is misspelt',
    on('leader', 'latchkey_site_policy_unreadable 0 1'),
  ],
  [
    'LatchkeyOperatorStale',
    'a watch brings no news',
    on('leader', 'latchkey_reflector_freshness_seconds{resource="ownedaccesskeys"} 1+30x240'),
  ],
  [
    'LatchkeyNoSigningKey',
    'no key could be made',
    on(
      'leader',
      'latchkey_signing_key_created_timestamp_seconds 0',
      'latchkey_signing_key_rotation_timestamp_seconds 0',
    ),
  ],
  [
    'LatchkeySigningKeyOverdue',
    'the next key could not be made',
    on('leader', `latchkey_signing_key_rotation_timestamp_seconds ${start + 600}`),
  ],
  [
    'LatchkeyReconcileFailing',
    'an object fails once a minute',
    on('leader', 'latchkey_reconcile_total{controller="ownedaccesskeys",outcome="error"} 0 0+1x120'),
  ],
  [
    'LatchkeyQueueBacklog',
    'more comes than is done',
    on('leader', 'latchkey_workqueue_depth{controller="ownedaccesskeys"} 0+10x240'),
  ],
  [
    'LatchkeyApiServerFailing',
    'requests get no answer',
    on(
      'leader',
      'latchkey_client_requests_total{verb="PATCH",resource="ownedaccesskeys",code="200"} 0+10x240',
      'latchkey_client_requests_total{verb="PATCH",resource="ownedaccesskeys",code="0"} 0+3x240',
    ),
  ],
  [
    'LatchkeyRestarting',
    'it is killed every five minutes',
    on('gateway', restarts('process_start_time_seconds')),
  ],
  [
    'LatchkeyLockStopsAll',
    'someone forgot to name a user',
    on('leader', 'latchkey_locks{selector="all",state="InForce"} 0 1'),
  ],
  [
    'LatchkeyCertificateNotRevoked',
    'a virtual cluster refuses',
    on('leader', 'latchkey_revocations_pending{reason="TargetForbidden"} 0 1'),
  ],
  [
    'LatchkeyCertificateNotRevoked',
    'a record cannot be read',
    on('leader', 'latchkey_revocations_pending{reason="RevocationUnreadable"} 0 1'),
  ],
  [
    'LatchkeyFinalizerReleased',
    'one object left something behind',
    on('leader', 'latchkey_finalizers_released_total{kind="VirtualClusterInstanceKubeConfig"} 0x10 1'),
  ],
  [
    'LatchkeyEndsLate',
    'ends come after ten minutes',
    on('leader', 'latchkey_credential_end_delay_seconds_bucket{kind="OwnedAccessKey",le="+Inf"} 100+1x240'),
  ],
  ['LatchkeyEventsDropped', 'an event was refused', on('leader', 'latchkey_events_dropped_total 0x10 1')],
  [
    'LatchkeyAuditDropped',
    'a line found no room',
    on('gateway', 'latchkey_audit_lines_total{outcome="dropped"} 0x10 1'),
  ],
  ['LatchkeyAuditStuck', 'the disk is full', on('leader', 'latchkey_audit_stuck_seconds 0 30+30x240')],
  [
    'LatchkeyQuotaReached',
    'three keys wait for room',
    on('leader', 'latchkey_credentials{kind="OwnedAccessKey",state="QuotaExceeded"} 3'),
  ],
  [
    'LatchkeyTargetNotUsable',
    'a virtual cluster does not answer',
    on('leader', 'latchkey_targets{kind="VirtualClusterInstance",state="TargetUnreachable"} 1'),
  ],
  ['LatchkeyGatewayDown', 'there is none', { gone: ['gateway'] }],
  ['LatchkeyGatewayDown', 'it does not answer', on('gateway', 'up 1 0')],
  [
    'LatchkeyGatewayStale',
    'a watch brings no news',
    on('gateway', 'latchkey_reflector_freshness_seconds{resource="ownedaccesskeys"} 1+30x240'),
  ],
  [
    'LatchkeyGatewayCertificateEnding',
    'no one renews it',
    on('leader', `latchkey_gateway_certificate_end_timestamp_seconds ${start + 19 * day}`),
  ],
  [
    'LatchkeyGatewayPlatformErrors',
    'one request in ten gets 503',
    on(
      'gateway',
      'latchkey_gateway_requests_total{target="management",verb="list",code="200"} 0+90x240',
      'latchkey_gateway_requests_total{target="management",verb="list",code="503"} 0+10x240',
    ),
  ],
  [
    'LatchkeyGatewayDefect',
    'one request met a defect',
    on('gateway', 'latchkey_gateway_refusals_total{error="ERR_INTERNAL"} 0x10 1'),
  ],
  [
    'LatchkeyGatewayActivityBehind',
    'more keys are used than it writes',
    on('gateway', 'latchkey_gateway_activity_waiting{of="keys"} 0+5x240'),
  ],
  [
    'LatchkeyGatewayConnectionsClosed',
    'strangers fill it',
    on('gateway', 'latchkey_gateway_connections_closed_total{limit="address"} 0+300x240'),
  ],
];

/** Lists what no one needs to be called for. */
export const everyday = (start: number): readonly (readonly [string, Scenario])[] => [
  ['as it was recorded', {}],
  [
    'another replica takes over within a minute',
    { series: { leader: ['latchkey_leader 1 0'], standby: ['latchkey_leader 0 0 0 1'] } },
  ],
  [
    'a conflict every five minutes',
    on('leader', `latchkey_reconcile_total{controller="ownedaccesskeys",outcome="error"} ${steps(10)}`),
  ],
  ['a user is locked', on('leader', 'latchkey_locks{selector="user",state="InForce"} 0 1')],
  [
    'a lock of everything, which is over, was left behind',
    on('leader', 'latchkey_locks{selector="all",state="Expired"} 1'),
  ],
  ['one restart', on('leader', `process_start_time_seconds ${start}x20 ${start + 600}`)],
  [
    'a storm of ends that is recorded within two minutes',
    on(
      'leader',
      'latchkey_credential_end_delay_seconds_bucket{kind="OwnedAccessKey",le="120"} 0x10 5000',
      'latchkey_credential_end_delay_seconds_bucket{kind="OwnedAccessKey",le="300"} 0x10 5000',
      'latchkey_credential_end_delay_seconds_bucket{kind="OwnedAccessKey",le="600"} 0x10 5000',
      'latchkey_credential_end_delay_seconds_bucket{kind="OwnedAccessKey",le="+Inf"} 0x10 5000',
      'latchkey_expiry_budget_waiting 0x10 4000 1000 0',
    ),
  ],
  [
    'the certificate of the operator just before its renewal',
    on('leader', `latchkey_gateway_certificate_end_timestamp_seconds ${start + 30 * day}`),
  ],
  [
    'a burst that is worked off within five minutes',
    on('leader', 'latchkey_workqueue_depth{controller="ownedaccesskeys"} 0 5000-500x10 0'),
  ],
  [
    'a virtual cluster that is down for ten minutes',
    on('leader', 'latchkey_targets{kind="VirtualClusterInstance",state="TargetUnreachable"} 0x5 1x20 0'),
  ],
];

/** A counter that rises by one every so many scrapes. */
function steps(every: number): string {
  return Array.from({ length: 240 }, (_, index) => Math.floor(index / every)).join(' ');
}

function restarts(series: string): string {
  const values = Array.from({ length: 240 }, (_, index) => Math.floor(index / 10) * 300);
  return `${series} ${values.join(' ')}`;
}
