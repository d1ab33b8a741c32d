/**
 * Files of the second lane that say how fast something is, or whose operators have a lease of a few seconds, with the reason. They run
 * after the others and beside each other: among the others are some that take a whole core.
 */
export const timed: Readonly<Record<string, string>> = {
  'bench/soak/soak.test.ts': 'compares figures of every two seconds',
  'lab/controlplane/binaries/binaries.test.ts': 'gives up a silent host within five seconds',
  'test/outages/availability/cut-off-server.test.ts': 'knows within five seconds how old its news is',
  'test/outages/availability/shutdown.test.ts': 'ends within ten seconds',
  'test/outages/availability/takeover.test.ts': 'takes over within two leases',
  'test/outages/availability/two-leaders.test.ts': 'has a lease of five seconds',
  'test/outages/gateway/idle-connections.test.ts':
    'cuts a watch within five seconds beside 1,500 connections',
  'test/outages/gateway/slow-clients.test.ts': 'gives up a client that stands still for eight seconds',
  'test/outages/gitops/repository.test.ts': 'prunes within fifteen seconds',
  'test/outages/gitops/samples.test.ts': 'prunes within half a minute',
  'test/outages/ill/minutes.test.ts': 'counts the requests of a minute, and has a lease of three seconds',
  'test/outages/ill/network.test.ts': 'has a lease of three seconds',
  'test/outages/ill/outages.test.ts': 'is back within half a minute, and has a lease of three seconds',
  'test/outages/ill/readiness.test.ts': 'has a lease of three seconds',
  'test/outages/ill/slow-answers.test.ts': 'keeps a lease of seven seconds',
  'test/outages/input/api-server-restart.test.ts': 'has a lease of two seconds',
  'test/outages/kubeconfigs/attacks-hostile-cluster.test.ts': 'revokes and confirms within ten seconds',
  'test/outages/kubeconfigs/outages.test.ts': 'revokes a hundred certificates within five seconds',
  'test/outages/kubeconfigs/thousand-revocations.test.ts': 'revokes a thousand certificates within a minute',
  'test/outages/lifecycle/deletions.test.ts': 'allows a share of requests in vain',
  'test/outages/lifecycle/neighbours.test.ts': 'says who comes first beside a flood',
  'test/outages/lifecycle/renewal.test.ts': 'renews and refuses within ten seconds',
  'test/outages/lifecycle/slow-writes.test.ts': 'says who comes first beside a flood',
  'test/outages/lifecycle/storm.test.ts': 'has a rate of events, and ends within seconds',
  'test/outages/targets/hostile-answers.test.ts': 'compares times with and without a flood',
  'test/outages/targets/network.test.ts': 'lets others go on within five seconds',
  'test/outages/targets/outages.test.ts': 'lets an instance go within twelve seconds',
};
