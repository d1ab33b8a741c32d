import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client';

/** Adds the figures of the process: CPU, memory, event loop, garbage collection, and which version runs. */
export function watchProcess(registry: Registry, version: string): void {
  collectDefaultMetrics({ register: registry });
  new Gauge({
    registers: [registry],
    name: 'latchkey_build_info',
    help: 'Always 1; the labels name the running version.',
    labelNames: ['version', 'node'],
  }).set({ version, node: process.versions.node }, 1);
}
