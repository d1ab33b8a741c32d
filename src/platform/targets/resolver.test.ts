import type { LookupAddress } from 'node:dns';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../kube/fake-clock.ts';
import { boundedResolver } from './resolver.ts';

const found: LookupAddress[] = [{ address: '10.0.0.1', family: 4 }];
const settle = () => new Promise((resolve) => setImmediate(resolve));

function slow() {
  const asked: string[] = [];
  const waiting: PromiseWithResolvers<readonly LookupAddress[]>[] = [];
  const resolve = (hostname: string) => {
    asked.push(hostname);
    const answer = Promise.withResolvers<readonly LookupAddress[]>();
    waiting.push(answer);
    return answer.promise;
  };
  const clock = new FakeClock();
  const limits = { atOnce: 2, waiting: 2, waitMs: 5_000, clock };
  return { asked, waiting, clock, resolver: boundedResolver(resolve, limits) };
}

describe('a bounded resolver', () => {
  it('has no more than its limit under way', async () => {
    const { asked, waiting, resolver } = slow();
    const answers = ['a', 'b', 'c', 'd'].map(resolver);
    await settle();
    expect(asked).toEqual(['a', 'b']);
    waiting[0]?.resolve(found);
    await settle();
    expect(asked).toEqual(['a', 'b', 'c']);
    waiting[1]?.reject(new Error('refused'));
    await expect(answers[1]).rejects.toThrow('refused');
    await settle();
    expect(asked).toEqual(['a', 'b', 'c', 'd']);
    waiting[2]?.resolve(found);
    waiting[3]?.resolve(found);
    expect(await Promise.all([answers[0], answers[2], answers[3]])).toEqual([found, found, found]);
  });

  it('refuses at once when too many wait', async () => {
    const { resolver, waiting } = slow();
    const answers = ['a', 'b', 'c', 'd'].map(resolver);
    await expect(resolver('e')).rejects.toMatchObject({ code: 'EAI_AGAIN' });
    await settle();
    for (const one of waiting) one.resolve(found);
    await settle();
    for (const one of waiting) one.resolve(found);
    await Promise.all(answers);
  });

  it('does not resolve what nobody waits for any more', async () => {
    const { asked, waiting, clock, resolver } = slow();
    const answers = ['a', 'b', 'c'].map(resolver);
    const failure = answers[2]?.catch((error: unknown) => error);
    await settle();
    clock.advance(5_001);
    const late = resolver('d');
    waiting[0]?.resolve(found);
    expect(await failure).toMatchObject({ code: 'EAI_AGAIN' });
    await settle();
    expect(asked).toEqual(['a', 'b', 'd']);
    for (const one of waiting) one.resolve(found);
    await Promise.all([answers[0], answers[1], late]);
  });

  it('resolves a name once for all who ask at the same time, and anew afterwards', async () => {
    const { asked, waiting, resolver } = slow();
    const answers = [resolver('a'), resolver('a')];
    await settle();
    waiting[0]?.resolve(found);
    await Promise.all(answers);
    expect(asked).toEqual(['a']);
    void resolver('a');
    await settle();
    expect(asked).toEqual(['a', 'a']);
  });
});
