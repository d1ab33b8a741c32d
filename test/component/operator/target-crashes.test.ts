import { describe, expect, it } from 'vitest';
import type { Exchange } from '../../fakes/exchange.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { InstanceOperator, StagedInstance } from './staged-instance.ts';
import { connection, everything, nothing, TargetStage } from './target-stage.ts';

/** The fate of the request in which the operator dies: it never arrives, or takes effect and its answer is lost. */
type Fate = 'lost' | 'unanswered';
type Work = (stage: TargetStage) => Promise<unknown>;

const connect: Work = async (stage) => {
  expect(await stage.connector.connect(connection)).toBeUndefined();
};
const disconnect: Work = async (stage) => {
  expect(await stage.connector.disconnect(connection)).toBe('clean');
};

/** Runs the work in an operator that dies at its n-th request, to platform or target. Resolves with whether it came so far. */
async function dieAt(stage: TargetStage, work: Work, n: number, fate: Fate): Promise<boolean> {
  let left = n;
  let state: 'alive' | 'dead' | 'replaced' = 'alive';
  const script = (exchange: Exchange) => {
    if (state === 'replaced' || (state === 'alive' && left-- > 0)) return undefined;
    const isLast = state === 'alive';
    state = 'dead';
    exchange.answer = () => exchange.reset();
    if (isLast && fate === 'unanswered') return undefined;
    exchange.reset();
    return true;
  };
  for (const server of [stage.platform, stage.target.server]) server.script(script);
  await work(stage).catch(() => undefined);
  const died = (state as string) === 'dead';
  state = 'replaced';
  await stage.restart();
  return died;
}

async function atEveryRequest(
  fate: Fate,
  run: (stage: TargetStage, n: number, clock: FakeClock) => Promise<boolean>,
) {
  for (let n = 0; ; n++) {
    const clock = new FakeClock();
    const stage = await TargetStage.open(clock);
    try {
      if (!(await run(stage, n, clock))) return n;
    } finally {
      await stage.close();
    }
    if (n > 40) throw new Error(`no end of requests that are ${fate}`);
  }
}

describe.each<Fate>(['lost', 'unanswered'])('an operator whose last request is %s', (fate) => {
  it('leaves a target that the next one can connect, with a token that works', async () => {
    const requests = await atEveryRequest(fate, async (stage, n) => {
      const died = await dieAt(stage, connect, n, fate);
      await connect(stage);
      expect(stage.left).toEqual(everything);
      expect(stage.target.tokens).toContain(stage.access?.token);
      return died;
    });
    expect(requests).toBe(17);
  });

  it('leaves a target of which the next one leaves nothing', async () => {
    const requests = await atEveryRequest(fate, async (stage, n) => {
      await connect(stage);
      const died = await dieAt(stage, disconnect, n, fate);
      await disconnect(stage);
      expect(stage.left).toEqual(nothing);
      expect(stage.secret).toBeUndefined();
      return died;
    });
    expect(requests).toBe(11);
  });

  it('leaves nothing either when it died while it connected and the object is deleted', async () => {
    const requests = await atEveryRequest(fate, async (stage, n, clock) => {
      const instance = new StagedInstance(stage, clock);
      const died = await dieAt(stage, () => new InstanceOperator(instance).reconcile(), n, fate);
      instance.delete();
      const next = new InstanceOperator(instance);
      await next.finish();
      expect(stage.left).toEqual(nothing);
      expect(stage.secret).toBeUndefined();
      expect([next.events.at(-1), next.released]).toEqual(['Deleted', 0]);
      return died;
    });
    expect(requests).toBe(18);
  });
});
