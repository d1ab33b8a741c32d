/** Sections whose commands another test runs, in a world of its own. The demo runs those of all other sections. */
export const runElsewhere = {
  'test/e2e/gateway/operation-pages.test.ts': {
    'docs/reference/self.md': ['In 60 seconds', 'Ask about another key'],
    'docs/reference/kubeconfig-request.md': ['In 60 seconds', 'Take it back'],
    'docs/reference/trusting-clusters.md': ['The documents'],
    'docs/guide/gateway.md': ['In 60 seconds', 'Discovery', 'What you may do'],
  },
  'test/outages/gateway/audit-log.test.ts': {
    'docs/guide/who-used-my-key.md': ['In 60 seconds', 'After a leak'],
  },
  'test/outages/install/helm-release.test.ts': { 'docs/guide/uninstall.md': ['In 60 seconds', 'For good'] },
  'test/e2e/gateway/trusting-cluster.test.ts': { 'docs/reference/trusting-clusters.md': ['In 60 seconds'] },
  'test/e2e/gateway/own-documents.test.ts': {
    'docs/reference/own-credentials.md': [
      ...[
        'In 60 seconds',
        'Create',
        'Get and list',
        'Credentials of everyone',
        'Watch',
        'Replace',
        'Patch',
        'Apply',
        'Delete',
      ],
    ],
  },
} as const;

/** Of all of these. */
export const sectionsElsewhere = Object.values<Readonly<Record<string, readonly string[]>>>(
  runElsewhere,
).flatMap((pages) =>
  Object.entries(pages).flatMap(([page, sections]) => sections.map((section) => ({ page, section }))),
);

const noNode = 'no node of the demo runs pods';
const byHelm = 'test/outages/install runs it, with the Helm that it builds';
const noVClusterCLI = 'the source of the vCluster CLI is not here; a test sends its requests';
const noPrometheus = 'the demo has no kinds of the Prometheus operator';

/** Commands that cannot run here, by page and beginning. */
export const notRun: readonly { readonly page: string; readonly command: string; readonly why: string }[] = [
  { page: 'README.md', command: 'npm ci && npm run demo', why: 'the demo runs already' },
  { page: 'README.md', command: 'helm install', why: byHelm },
  {
    page: 'docs/guide/virtual-clusters.md',
    command: 'kubectl apply -k config/samples/virtual-cluster',
    why: 'the demo has done it, with an address of its own',
  },
  { page: 'docs/guide/install.md', command: 'helm install', why: byHelm },
  { page: 'docs/guide/install.md', command: 'kubectl rollout status', why: noNode },
  { page: 'docs/guide/upgrade.md', command: 'kubectl rollout status', why: noNode },
  { page: 'docs/guide/monitoring.md', command: 'kubectl apply -k .', why: noPrometheus },
  { page: 'docs/guide/monitoring.md', command: 'kubectl get podmonitors', why: noPrometheus },
  { page: 'docs/guide/gitops.md', command: 'kubectl patch configmap argocd-cm', why: 'Argo CD is not here' },
  {
    page: 'docs/guide/deletion.md',
    command: 'kubectl patch oak obsolete --type=json',
    why: 'the operator is here, and takes the finalizer away itself',
  },
  ...[
    "grep -rl 'management",
    'go build',
    'vcluster platform login',
    'vcluster platform list',
    'vcluster platform connect',
  ].map((command) => ({ page: 'docs/reference/vcluster-cli.md', command, why: noVClusterCLI })),
];

interface Replacement {
  /** All of them, in every command. */
  readonly from: string | RegExp;
  readonly to: string;
  readonly why: string;
}

/** The demo's replacements of what a page says. */
export const runOtherwise: readonly Replacement[] = [
  {
    from: 'https://latchkey.example.com',
    to: '$GATEWAY',
    why: 'the gateway of the demo has an address of its own',
  },
  { from: /[\w-]{43}(?=\.pem)/g, to: `'"$(kid)"'`, why: 'the demo has signing keys of its own' },
];
