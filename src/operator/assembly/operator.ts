import base from '@dot-i/k8s-operator';
import type { Clock } from '../../kube/clock.ts';
import type { Logger } from '../../kube/logger.ts';
import { runWorkers, type WorkResult } from '../../kube/queue/workers.ts';
import type { ControllerMetrics } from '../../telemetry/metrics/controllers.ts';
import type { Controller } from '../shared/controller.ts';
import { failureOf } from './failure.ts';
import { eventOf, type ResourceEvent } from './resource-event.ts';

type ReconcileOutcome = Parameters<ReturnType<ControllerMetrics['for']>['reconciled']>[0];
type OnEvent = (event: ResourceEvent) => Promise<unknown>;

export interface OperatorOptions {
  readonly controllers: readonly Controller[];
  readonly metricsOf: ControllerMetrics['for'];
  readonly clock: Clock;
  readonly log: Logger;
}

const replaced = (member: string): never => {
  throw new TypeError(`${member} of the base class is not used: it hides errors or ends the process`);
};

/**
 * The operator as a subclass of `Operator` of @dot-i/k8s-operator. The base class gives the shape (init registers what
 * is watched, start, stop); everything in it that does I/O is replaced, see docs/decisions/0001.
 */
export class LatchkeyOperator extends base.default {
  readonly #options: OperatorOptions;
  readonly #running: Promise<void>[] = [];

  constructor(options: OperatorOptions) {
    super();
    this.#options = options;
  }

  /** Resolves when, after `stop`, the last object that was being worked on is done. */
  async stopped(): Promise<void> {
    await Promise.all(this.#running);
  }

  /** Takes no more work; what workers have in hand they finish. */
  override stop(): void {
    for (const { queue } of this.#options.controllers) queue.shutDown({ discard: true });
  }

  protected override async init(): Promise<void> {
    for (const { resource, namespace, reconcile } of this.#options.controllers) {
      const onEvent: OnEvent = ({ meta }) =>
        reconcile(meta.namespace === undefined ? meta.name : `${meta.namespace}/${meta.name}`);
      await this.watchResource(resource.group, resource.version, resource.plural, onEvent, namespace);
    }
  }

  /** The base class ends the process after 30 s of silence; here the reflectors fill the queue, and workers empty it. */
  // biome-ignore lint/complexity/useMaxParams: the signature is that of the base class.
  protected override async watchResource(
    group: string,
    version: string,
    plural: string,
    onEvent: OnEvent,
    namespace?: string,
  ): Promise<void> {
    const controller = this.#options.controllers.find(
      ({ resource, namespace: own }) =>
        resource.group === group &&
        resource.version === version &&
        resource.plural === plural &&
        own === namespace,
    );
    if (controller === undefined) throw new TypeError(`no controller watches ${plural}`);
    this.#running.push(this.#work(controller, onEvent));
  }

  protected override getCustomResourceApiUri(
    group: string,
    version: string,
    plural: string,
    namespace?: string,
  ): string {
    const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
    const scope = namespace === undefined ? '' : `/namespaces/${namespace}`;
    return `${this.kubeConfig.getCurrentCluster()?.server ?? ''}${root}${scope}/${plural}`;
  }

  protected override registerCustomResourceDefinition(): never {
    return replaced('registerCustomResourceDefinition');
  }

  protected override setResourceStatus(): never {
    return replaced('setResourceStatus');
  }

  protected override patchResourceStatus(): never {
    return replaced('patchResourceStatus');
  }

  protected override handleResourceFinalizer(): never {
    return replaced('handleResourceFinalizer');
  }

  protected override setResourceFinalizers(): never {
    return replaced('setResourceFinalizers');
  }

  #work(controller: Controller, onEvent: OnEvent): Promise<void> {
    const { clock, log, metricsOf } = this.#options;
    const { name, queue, workers } = controller;
    const metrics = metricsOf(name);
    metrics.readDepth(() => queue.length);
    return runWorkers({
      queue,
      workers,
      clock,
      log,
      work: async (key) => {
        const start = clock.monotonic();
        let outcome: ReconcileOutcome = 'error';
        try {
          const result = (await onEvent(eventOf(controller, key))) as WorkResult | undefined;
          outcome = result?.requeueAfterMs === undefined ? 'success' : 'requeue';
          return result;
        } finally {
          metrics.reconciled(outcome, (clock.monotonic() - start) / 1000);
        }
      },
      onError: (key, error, failures) => {
        metrics.retried();
        const { level, message } = failureOf(error);
        log[level]({ controller: name, key, failures, err: error }, message);
      },
    });
  }
}
