import { expect, it } from 'vitest';
import type { Guard } from '../controlplane/guard.ts';
import { buildInBackground } from './build-program.ts';

it.each([
  [0, undefined],
  [1, 'Go could not build it'],
  // As a shell says that there is no such command.
  [127, 'there is no Go on this machine'],
])('a build that ends with %i leaves a program, or says why there is none', async (code, reason) => {
  const guard: Pick<Guard, 'run'> = {
    run: async ({ name }) => ({ name, pid: 1, logPath: '/x', exited: Promise.resolve(code) }),
  };
  expect(await buildInBackground(guard, '/source', '/program')).toBe(reason);
});
