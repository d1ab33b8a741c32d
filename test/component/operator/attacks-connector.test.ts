import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/kube/clock.ts';
import { connection, TargetStage } from './target-stage.ts';

const unprintable = { toString: 1, valueOf: 1 };

let stage: TargetStage;
beforeEach(async () => {
  stage = await TargetStage.open(systemClock);
});
afterEach(async () => await stage.close());

/** Tells how a check ends. A rejection leaves `Ready` as it was, for as long as the target likes. */
const outcomeOf = (work: Promise<{ reason: string } | string | undefined>): Promise<string> =>
  work.then(
    (result) => (typeof result === 'object' ? result.reason : (result ?? 'connected')),
    (error: unknown) => `rejected: ${inspect(error)}`,
  );

describe('a target whose refusals are no Status', () => {
  it.each<[string, object]>([
    ['details that are null', { details: null }],
    ['causes that are no list', { details: { causes: 5 } }],
    ['a cause that is null', { details: { causes: [null] } }],
    ['a reason that cannot be printed', { reason: unprintable }],
    ['a message that cannot be printed', { message: unprintable }],
  ])('has its own problem: %s', async (_, parts) => {
    for (const method of ['GET', 'PATCH', 'POST', 'DELETE']) {
      stage.target.server.script((exchange) => {
        if (exchange.method !== method) return false;
        exchange.answer(409, { kind: 'Status', code: 409, ...parts });
        return true;
      });
      expect(await outcomeOf(stage.connector.connect(connection))).not.toContain('rejected');
      expect(await outcomeOf(stage.connector.disconnect(connection))).not.toContain('rejected');
    }
  });
});
