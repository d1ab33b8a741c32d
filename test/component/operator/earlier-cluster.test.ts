import { expect, it } from 'vitest';
import { Simulation } from './simulation.ts';

const tokens = 'directclusterendpointtokens';

/** A token in a Secret that describes the cluster `edge`, which is older than the token. */
async function described(pruned: readonly string[] = []): Promise<Simulation> {
  const simulation = new Simulation([]);
  simulation.api.prunedStatus = pruned;
  simulation.createCluster('edge', 'edge.example.com');
  simulation.clock.advance(15 * 60_000);
  await simulation.runUntilIdle();
  const secretRef = { namespace: 'argocd', name: 'edge', format: 'argocd-cluster' };
  simulation.create(tokens, 'argo', { ttl: 86_400, scope: { clusters: [{ cluster: 'edge' }] }, secretRef });
  await simulation.runUntilIdle();
  return simulation;
}

function stateOf(simulation: Simulation) {
  const [record] = simulation.records();
  const secret = simulation.api.find('secrets', 'argocd/edge');
  const { token, server = '' } = secret?.data ?? {};
  const { hostname } = new URL(Buffer.from(server, 'base64').toString());
  return { serial: record?.status.serial, uid: record?.status.clusterUID, token, server: hostname };
}

async function makeAgain(simulation: Simulation, host: string): Promise<void> {
  simulation.delete('clusters', 'edge');
  await simulation.runUntilIdle();
  simulation.createCluster('edge', host);
  await simulation.runUntilIdle();
}

it('a token of a release that did not say for which Cluster it was issued stays, and is told of an address', async () => {
  const simulation = await described();
  const before = stateOf(simulation);
  const options = { subresource: 'status', fieldManager: 'latchkey-operator' };
  simulation.api.patch(tokens, 'argo', { status: { clusterUID: null } }, options);
  simulation.crash();
  await simulation.runUntilIdle();
  simulation.edit('clusters', 'edge', { spec: { directEndpoint: { host: 'other.example.com' } } });
  await simulation.runUntilIdle();
  expect(stateOf(simulation)).toEqual({ ...before, uid: undefined, server: 'other.example.com' });

  await makeAgain(simulation, 'again.example.com');
  const after = stateOf(simulation);
  expect(after).toMatchObject({ serial: 2, server: 'again.example.com', uid: expect.any(String) });
  expect(after.token).not.toBe(before.token);
});

it('a status that does not keep for which Cluster a token was issued makes no more of them than there are Clusters', async () => {
  const simulation = await described(['clusterUID']);
  expect(stateOf(simulation)).toMatchObject({ serial: 1, uid: undefined, server: 'edge.example.com' });
  for (const [serial, host] of [
    [2, 'second.example.com'],
    [3, 'third.example.com'],
  ] as const) {
    await makeAgain(simulation, host);
    simulation.edit(tokens, 'argo', { metadata: { labels: { seen: host } } });
    simulation.clock.advance(600_000);
    await simulation.runUntilIdle();
    expect(stateOf(simulation)).toMatchObject({ serial, uid: undefined, server: host });
  }
});
