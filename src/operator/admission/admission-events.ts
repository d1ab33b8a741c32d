import { systemNamespace } from '../../api/names.ts';
import { reasons } from '../../api/reasons.ts';
import { deployments } from '../../api/resources.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { RegardingObject } from '../../kube/events/event-object.ts';
import type { EventRecorder } from '../../kube/events/event-recorder.ts';

export interface AdmissionEventsOptions {
  readonly client: Pick<KubeClient, 'get'>;
  readonly recorder: Pick<EventRecorder, 'record'>;
}

/** As config/operator has it. */
const name = 'latchkey-operator';

/**
 * Reports that policies are missing, and that all are back: as events about the operator's
 * Deployment, whose Pods are not ready meanwhile. One for each change, whatever the number of objects that wait.
 */
export class AdmissionEvents {
  readonly #options: AdmissionEventsOptions;
  #reported: string | undefined;

  constructor(options: AdmissionEventsOptions) {
    this.#options = options;
  }

  /** `problem`: what is missing; undefined: nothing. Reports nothing twice. Never rejects. */
  async report(problem: string | undefined): Promise<void> {
    if (problem === this.#reported) return;
    this.#reported = problem;
    const regarding = await this.#deployment();
    this.#options.recorder.record(
      problem === undefined
        ? {
            regarding,
            type: 'Normal',
            reason: reasons.admissionComplete,
            action: 'Resume',
            note: 'All admission policies are there: waiting objects are confirmed now.',
          }
        : {
            regarding,
            type: 'Warning',
            reason: reasons.admissionMissing,
            action: 'Wait',
            note: `Nothing new is confirmed, because admission policies or bindings are ${problem}`,
          },
    );
  }

  /** Without its UID `kubectl describe` does not show the event, but `kubectl get events` does. */
  async #deployment(): Promise<RegardingObject> {
    const place = { namespace: systemNamespace, name };
    const uid = await this.#options.client
      .get(deployments, place)
      .then(({ metadata }) => metadata.uid)
      .catch(() => '');
    return { apiVersion: 'apps/v1', kind: 'Deployment', ...place, uid };
  }
}
