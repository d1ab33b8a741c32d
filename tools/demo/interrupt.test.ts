import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { Interrupt, Interrupted } from './interrupt.ts';

it('gives what the work gives while no signal comes', async () => {
  const interrupt = new Interrupt(new EventEmitter());
  interrupt.check();
  await expect(interrupt.unless(Promise.resolve('done'))).resolves.toBe('done');
  await expect(interrupt.unless(Promise.reject(new Error('failed')))).rejects.toThrow('failed');
});

it('leaves work that a signal overtakes, and lets it begin nothing more', async () => {
  const signals = new EventEmitter();
  const interrupt = new Interrupt(signals);
  const left = interrupt.unless(new Promise(() => undefined));
  signals.emit('SIGTERM');
  signals.emit('SIGINT');
  await expect(left).rejects.toEqual(new Interrupted('SIGTERM'));
  await expect(interrupt.received).resolves.toBe('SIGTERM');
  expect(() => interrupt.check()).toThrow('ended by SIGTERM');
});
