import { globSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { diagramProblems } from './diagrams.ts';
import { readDocument, sectionOf } from './document.ts';

const root = path.resolve(import.meta.dirname, '../..');
const diagramsIn = (text: string): string[] =>
  [...text.matchAll(/^```mermaid\n(.*?)^```$/gms)].map(([, diagram = '']) => diagram);
const diagrams = ['README.md', ...globSync('docs/**/*.md', { cwd: root })].flatMap((page) =>
  diagramsIn(readDocument(page)).map((diagram, index) => ({ page, number: index + 1, diagram })),
);

it.each(diagrams)('diagram $number of $page can be drawn', ({ diagram }) => {
  expect(diagramProblems(diagram)).toEqual([]);
});

/** The subject of each, its place, and its kind. */
const drawn = [
  ['the parts in short', 'README.md', 'Latchkey', 'flowchart'],
  ['the parts, and who talks to whom', 'docs/guide/concepts.md', 'In 60 seconds', 'flowchart'],
  ['a request through the gateway', 'docs/guide/gateway.md', 'In 60 seconds', 'sequenceDiagram'],
  ['how a credential is made by POST', 'docs/guide/own-credentials.md', 'In 60 seconds', 'sequenceDiagram'],
  ['how a pipeline gets a key', 'docs/guide/pipelines.md', 'In 60 seconds', 'sequenceDiagram'],
  ['what a deletion sets off', 'docs/guide/deletion.md', 'What happens then', 'sequenceDiagram'],
  ['what is below a key, and narrows', 'docs/guide/child-keys.md', 'In 60 seconds', 'flowchart'],
  ['how a certificate is revoked', 'docs/guide/kubeconfigs.md', 'When it ends', 'sequenceDiagram'],
  ['who decides whether you may', 'docs/guide/ownership.md', 'In 60 seconds', 'sequenceDiagram'],
  ['how a key comes from Git', 'docs/guide/gitops.md', 'In 60 seconds', 'sequenceDiagram'],
  ['how a token is verified', 'docs/guide/tokens.md', 'Verify a token', 'sequenceDiagram'],
  ['how signing keys follow one another', 'docs/reference/signing-keys.md', 'Rotation', 'sequenceDiagram'],
  [
    'how a cluster comes to trust tokens',
    'docs/reference/trusting-clusters.md',
    'In 60 seconds',
    'sequenceDiagram',
  ],
  [
    'a request for a kubeconfig',
    'docs/reference/kubeconfig-request.md',
    'What stands behind it',
    'sequenceDiagram',
  ],
  [
    'how a virtual cluster is connected',
    'docs/guide/virtual-clusters.md',
    'In 60 seconds',
    'sequenceDiagram',
  ],
  ['how requests reach a cluster', 'docs/guide/clusters.md', 'In 60 seconds', 'flowchart'],
  ['what stands around the gateway', 'docs/guide/run-gateway.md', 'In 60 seconds', 'flowchart'],
  ['the conditions of a credential', 'docs/reference/status.md', 'Types', 'stateDiagram-v2'],
] as const;

/** Pages without one: they have two parties, or they lead to the pages on which their flows are drawn. */
const notDrawn: Readonly<
  Record<string, { readonly parties: readonly [string, string] } | { readonly drawnOn: readonly string[] }>
> = {
  'docs/guide/access-keys.md': { drawnOn: ['docs/guide/ownership.md', 'docs/guide/deletion.md'] },
  'docs/guide/choose.md': {
    drawnOn: ['docs/guide/gateway.md', 'docs/guide/tokens.md', 'docs/guide/kubeconfigs.md'],
  },
  'docs/guide/install.md': { drawnOn: ['docs/guide/concepts.md', 'docs/guide/run-gateway.md'] },
  'docs/guide/load-balancer.md': { drawnOn: ['docs/guide/run-gateway.md'] },
  'docs/guide/monitoring.md': { parties: ['you', 'Prometheus'] },
  'docs/guide/who-used-my-key.md': { parties: ['you', 'the audit log'] },
  'docs/guide/operate.md': { drawnOn: ['docs/guide/kubeconfigs.md'] },
  'docs/guide/scopes.md': { drawnOn: ['docs/guide/ownership.md'] },
  'docs/guide/site-policy.md': { parties: ['you', 'the API server'] },
  'docs/guide/troubleshooting.md': { parties: ['you', 'what you look at'] },
  'docs/guide/backup.md': { parties: ['you', 'the API server'] },
  'docs/guide/uninstall.md': { drawnOn: ['docs/guide/deletion.md'] },
  'docs/guide/upgrade.md': { parties: ['you', 'the API server'] },
};

it.each(drawn)('there is a diagram of %s', (_, page, section, kind) => {
  const [diagram = ''] = diagramsIn(sectionOf(readDocument(page), section));
  expect(diagram.startsWith(kind)).toBe(true);
});

const isDrawn = (page: string): boolean => drawn.some(([, place]) => place === page);

it.each(['README.md', ...globSync('docs/guide/*.md', { cwd: root })])(
  '%s has a diagram, or it is known why not',
  (page) => {
    const reason = notDrawn[page];
    expect(isDrawn(page)).toBe(diagramsIn(readDocument(page)).length > 0);
    expect(isDrawn(page)).toBe(reason === undefined);
    const others = reason !== undefined && 'drawnOn' in reason ? reason.drawnOn : [];
    const links = others.map((other) => path.relative(path.dirname(page), other));
    expect(links.filter((link) => !readDocument(page).includes(`](${link}`))).toEqual([]);
    expect(others.filter((other) => !isDrawn(other))).toEqual([]);
  },
);

describe('a diagram', () => {
  const sequence = 'sequenceDiagram\n  participant A as you\n  participant B as it\n';

  it.each([
    ['of an unknown kind', 'pie\n  "a" : 1'],
    ['with a line that is no statement', `${sequence}  A says B`],
    ['with an unknown party', `${sequence}  A->>C: hello`],
    ['with a signal that says nothing', `${sequence}  A->>B: `],
    ['with a semicolon', `${sequence}  A->>B: one; two`],
    ['with a block that does not end', `${sequence}  loop often\n  A->>B: hello`],
    ['with an end of nothing', `${sequence}  A->>B: hello\n  end`],
    ['with a node without a label', 'flowchart LR\n  a["A"] --> b'],
    ['with half a label', 'flowchart LR\n  a["A] --> b["B"]'],
    ['with an unknown state', 'stateDiagram-v2\n  state "A" as a\n  [*] --> b'],
  ])('%s cannot be drawn', (_, diagram) => {
    expect(diagramProblems(diagram)).not.toEqual([]);
  });

  it('of each kind can be drawn', () => {
    expect(diagramProblems(`${sequence}  alt yes\n  A->>B: hello\n  else\n  B-->>A: no\n  end`)).toEqual([]);
    expect(
      diagramProblems('flowchart LR\n  subgraph s["S"]\n  a(["A"])\n  end\n  a -->|"so"| b["B"] -.-> s'),
    ).toEqual([]);
    expect(diagramProblems('stateDiagram-v2\n  state "A" as a\n  [*] --> a: new\n  a --> [*]')).toEqual([]);
  });
});
