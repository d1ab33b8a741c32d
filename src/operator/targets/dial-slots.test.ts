import { describe, expect, it } from 'vitest';
import { type DialPlace, DialSlots } from './dial-slots.ts';

const limits = { perTarget: 2, perTenant: 3 };

/** Reconciles that run until `finish` is called. */
function stage() {
  const slots = new DialSlots(limits, () => 0.5);
  const running: { readonly key: string; readonly finish: (error?: Error) => void }[] = [];
  const placeOf = (key: string): DialPlace | undefined => {
    const [tenant = '', target = ''] = key.split('/');
    return target === '' ? undefined : { target: `${tenant}/${target}`, tenant };
  };
  const reconcile = slots.guarded(placeOf, async (key) => {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    running.push({ key, finish: (error) => (error === undefined ? resolve(undefined) : reject(error)) });
    return promise;
  });
  return { running, start: (...keys: string[]) => keys.map((key) => reconcile(key)) };
}

describe('slots for dialling', () => {
  it('let one target hold so many workers and no more', async () => {
    const { running, start } = stage();
    const [, , third] = start('a/slow/1', 'a/slow/2', 'a/slow/3');
    expect(await third).toEqual({ requeueAfterMs: 375 });
    expect(running).toHaveLength(2);
  });

  it('let all targets of one tenant hold so many, and leave those of others alone', async () => {
    const { running, start } = stage();
    const [, , , fourth] = start('a/1', 'a/2', 'a/3', 'a/4', 'b/1');
    expect(await fourth).toEqual({ requeueAfterMs: 375 });
    expect(running.map(({ key }) => key)).toEqual(['a/1', 'a/2', 'a/3', 'b/1']);
  });

  it('are free again afterwards, failures included', async () => {
    const { running, start } = stage();
    const [first, second] = start('a/slow/1', 'a/slow/2');
    running[0]?.finish();
    running[1]?.finish(new Error('refused'));
    expect(await first).toBeUndefined();
    await expect(second).rejects.toThrow('refused');
    void Promise.all(start('a/slow/3', 'a/slow/4'));
    expect(running).toHaveLength(4);
  });

  it('ask nothing of what dials nothing', () => {
    const { running, start } = stage();
    void Promise.all(start('a', 'a', 'a', 'a', 'a'));
    expect(running).toHaveLength(5);
  });
});
