import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { reasons } from '../../../src/api/reasons.ts';
import type { Exchange } from '../../fakes/exchange.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { finalizerLimitMs, InstanceOperator, StagedInstance } from './staged-instance.ts';
import { accessKey, everything, nothing, TargetStage } from './target-stage.ts';

let clock: FakeClock;
let stage: TargetStage;
let instance: StagedInstance;
let operator: InstanceOperator;
beforeEach(async () => {
  clock = new FakeClock();
  stage = await TargetStage.open(clock);
  instance = new StagedInstance(stage, clock);
  operator = new InstanceOperator(instance);
});
afterEach(async () => await stage.close());

const takeover = async () => {
  await stage.restart();
  operator = new InstanceOperator(instance);
};

/** Each write takes the target four seconds: the last of the four ends after the time limit. */
function slowToWrite(): void {
  stage.target.server.script(({ method }) => {
    if (method === 'PATCH') clock.advance(4_000);
    return undefined;
  });
}

/** From its `n`th write on the target does what it is asked and answers nothing. Resolves with what mends it. */
function silentFromWrite(n: number, onWrite: () => void): () => void {
  let writes = 0;
  let isMended = false;
  stage.target.server.script((exchange) => {
    if (exchange.method === 'PATCH' && ++writes === n) onWrite();
    if (writes >= n && !isMended) exchange.answer = () => exchange.reset();
    return undefined;
  });
  return () => {
    isMended = true;
  };
}

const refuse = (exchange: Exchange, code: number, reason: string): true => {
  exchange.refuse(code, reason);
  return true;
};

async function expectClean(): Promise<void> {
  await operator.finish();
  expect(stage.left).toEqual(nothing);
  expect(stage.secret).toBeUndefined();
  expect([operator.events.at(-1), operator.released]).toEqual([reasons.deleted, 0]);
}

describe('an instance whose target was too slow for its first connect', () => {
  beforeEach(async () => {
    slowToWrite();
    await operator.reconcile();
    expect(instance.reason).toBe(reasons.targetUnreachable);
    expect(stage.left).toEqual(everything);
    expect(stage.target.tokens).toEqual([]);
    instance.delete();
  });

  it('leaves nothing there when it is deleted', expectClean);

  it('leaves nothing there either when another operator has taken over', async () => {
    await takeover();
    await expectClean();
  });

  it('waits for a target that is away, and says at the time limit that something may be left', async () => {
    await stage.target.server.stop();
    expect(await operator.finish()).toBe(finalizerLimitMs);
    expect(operator.events.slice(-2)).toEqual([reasons.deleted, reasons.finalizerReleased]);
    expect(operator.released).toBe(1);
  });
});

describe('an instance that is deleted during a first connect that fails', () => {
  it.each([1, 2, 3, 4])('leaves nothing in the target, at write %i of it', async (n) => {
    const mend = silentFromWrite(n, () => {
      instance.delete();
      operator.observe();
    });
    expect(await operator.reconcile()).toEqual({ requeueAfterMs: 0 });
    expect(stage.left).not.toEqual(nothing);
    expect(instance.reason).toBeUndefined();
    mend();
    await expectClean();
  });
});

describe('an instance of which everything was made, though its Secret is missing', () => {
  it('is known to have been there as soon as the target shows it', async () => {
    await operator.reconcile();
    stage.platform.storage('secrets').remove(accessKey);
    stage.target.server.script((exchange) =>
      exchange.path.endsWith('/token') ? refuse(exchange, 503, 'ServiceUnavailable') : undefined,
    );
    await operator.reconcile();
    expect(instance.reason).toBe(reasons.targetAnswer);
    instance.delete();
    await expectClean();
  });
});

describe('an instance whose target was never entered', () => {
  const refuseReads = () =>
    stage.target.server.script((exchange) =>
      exchange.path === '/version' ? undefined : refuse(exchange, 403, 'Forbidden'),
    );
  const answerNoAPI = () => {
    stage.target.server.script((exchange) => refuse(exchange, 302, 'Found'));
  };

  it.each([
    ['that is away', reasons.targetUnreachable, () => stage.target.server.stop()],
    ['whose kubeconfig is missing', reasons.kubeConfigNotFound, () => stage.useKubeConfig(undefined)],
    ['whose kubeconfig is of no administrator', reasons.targetForbidden, refuseReads],
    ['that is no API server', reasons.targetAnswer, answerNoAPI],
  ])('(%s) goes at once, without a request and without an alarm', async (_what, reason, breakIt) => {
    await breakIt();
    await operator.reconcile();
    expect(instance.reason).toBe(reason);
    expect(stage.secret).toBeUndefined();
    const requests = stage.target.requests.length;
    instance.delete();
    expect(await operator.finish()).toBe(0);
    expect(stage.target.requests).toHaveLength(requests);
    expect([operator.events.at(-1), operator.released]).toEqual([reasons.deleted, 0]);
  });

  it('has the Secret of another maker in its place: the target is asked all the same', async () => {
    const [namespace, name] = accessKey.split('/') as [string, string];
    stage.platform.storage('secrets').put({ metadata: { namespace, name } });
    instance.delete();
    await operator.finish();
    expect(stage.target.requests.length).toBeGreaterThan(0);
  });
});

describe('what a first connect writes about itself', () => {
  const secretWrites = () =>
    stage.platform.exchanges.filter(
      ({ method, path }) => method !== 'GET' && path.includes('/namespaces/latchkey-targets/'),
    );

  it('is one Secret without access before the first write in the target, and no other one ever again', async () => {
    let before: unknown;
    stage.target.server.once(
      ({ method }) => method === 'PATCH',
      (exchange) => {
        before = stage.secret;
        exchange.reset();
      },
    );
    await operator.reconcile();
    expect(before).toMatchObject({ type: 'Opaque' });
    expect(before).not.toHaveProperty('data');
    await operator.reconcile();
    await operator.reconcile();
    expect(secretWrites().map(({ method }) => method)).toEqual(['POST', 'PUT']);
    expect(stage.access?.token).toBe(stage.target.tokens[0]);
  });

  it('stands in the way of all others while it cannot be written', async () => {
    stage.platform.script((exchange) =>
      exchange.method === 'POST' ? refuse(exchange, 403, 'Forbidden') : undefined,
    );
    await operator.reconcile();
    expect(instance.reason).toBe(reasons.secretFailed);
    expect(stage.left).toEqual(nothing);
  });

  it('is not blamed on the target when the platform fails', async () => {
    stage.platform.script((exchange) =>
      exchange.method === 'POST' ? refuse(exchange, 500, 'InternalError') : undefined,
    );
    await expect(operator.reconcile()).rejects.toMatchObject({ status: 500 });
    expect([instance.reason, ...stage.left]).toEqual([undefined, ...nothing]);
  });
});
