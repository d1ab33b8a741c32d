import { openOutput } from '../audit/output.ts';
import { AuditSink } from '../audit/sink.ts';
import { systemClock as clock } from '../kube/clock.ts';
import type { Host } from '../process/host.ts';
import type { CommonSettings } from '../settings/common.ts';
import { AuditMetrics } from '../telemetry/metrics/audit.ts';

/** At the end, for lines that wait. */
const closeMs = 2_000;

/** The audit log of a command, where there is one. Close it when nothing more happens. */
export interface AuditLog {
  readonly sink: AuditSink | undefined;
  readonly close: () => Promise<void>;
}

export function openAuditLog(
  { log, registry }: Pick<Host, 'log' | 'registry'>,
  { audit: mode, auditLog: path }: Pick<CommonSettings, 'audit' | 'auditLog'>,
): AuditLog {
  const metrics = new AuditMetrics(registry);
  if (mode === 'off') return { sink: undefined, close: async () => undefined };
  const sink = new AuditSink({
    mode,
    output: openOutput(path),
    clock,
    log,
    count: (outcome, lines) => metrics.count(outcome, lines),
  });
  metrics.readStuck(() => sink.stuckMs);
  const reopen = () => sink.reopen();
  process.on('SIGHUP', reopen);
  const close = async () => {
    process.off('SIGHUP', reopen);
    await sink.close(closeMs);
  };
  return { sink, close };
}
