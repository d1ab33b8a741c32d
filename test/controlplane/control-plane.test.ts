import { describe, expect, it } from 'vitest';
import { sharedControlPlane } from './shared.ts';

describe('shared', () => {
  it('works', async () => {
    const plane = await sharedControlPlane();
    const r = await plane.kubectl(['auth', 'whoami'], {
      kubeconfig: await plane.kubeconfigFor('bob', ['x', 'y']),
    });
    expect(r.stdout).toMatch(/bob/);
  });
});
