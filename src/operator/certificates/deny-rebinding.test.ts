import { expect, it } from 'vitest';
import type { KubeClient } from '../../kube/client/client.ts';
import { kubeErrorFromStatus } from '../../kube/kube-error.ts';
import { allowRebinding } from './deny-rebinding.ts';

const dead = { uid: '4c5fe1b4-8a3e-4f25-b9a6-9a1d6a4b0c11', live: [] };

function refusing(status: number): { readonly client: KubeClient; readonly asked: string[] } {
  const asked: string[] = [];
  const client = {
    delete: async (_: unknown, { name }: { readonly name: string }) => {
      asked.push(name);
      throw kubeErrorFromStatus({ verb: 'DELETE', path: '/' }, status, {});
    },
  };
  return { client: client as unknown as KubeClient, asked };
}

it.each([403, 404])('a denial that was never made stands in no way: %i', async (status) => {
  const { client, asked } = refusing(status);
  expect(await allowRebinding(client, dead)).toBe(false);
  expect(asked).toEqual([`latchkey-${dead.uid}`, `latchkey-${dead.uid}`]);
});

it('a denial that could not be taken off is reported', async () => {
  await expect(allowRebinding(refusing(500).client, dead)).rejects.toThrow('500');
});
