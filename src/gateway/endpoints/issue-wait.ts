import type { KubeObject } from '../../kube/object.ts';
import type { Arrivals } from '../index/arrivals.ts';
import type { EndpointRequest } from './endpoint.ts';
import { type Progress, progressOf } from './kubeconfig-object.ts';

export type Outcome = Exclude<Progress, { readonly state: 'waiting' }> | { readonly state: 'late' | 'left' };

export interface IssueWaitOptions {
  readonly arrivals: Pick<Arrivals, 'on'>;
  /** Of the object: `namespace/name`. */
  readonly key: string;
  readonly maxWaitMs: number;
}

/** What the operator makes of one object. Begin before it is made: the watch may be faster than the answer that it was. End it. */
export class IssueWait {
  readonly outcome: Promise<Outcome>;
  /** As the watch brought it last. */
  latest: KubeObject | undefined;
  readonly end: () => void;

  constructor(
    { clock, response }: Pick<EndpointRequest, 'clock' | 'response'>,
    { arrivals, key, maxWaitMs }: IssueWaitOptions,
  ) {
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    const stop = arrivals.on(key, (object) => {
      this.latest = object;
      const progress = progressOf(object);
      if (progress.state !== 'waiting') resolve(progress);
    });
    const timer = clock.setTimer(() => resolve({ state: 'late' }), maxWaitMs);
    const onClosed = () => resolve({ state: 'left' });
    response.once('close', onClosed);
    this.outcome = promise;
    this.end = () => {
      stop();
      timer.cancel();
      response.off('close', onClosed);
    };
  }
}
