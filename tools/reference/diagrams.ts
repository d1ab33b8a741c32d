/** Finds the faults of a Mermaid diagram of a kind that the documents use; none where it can be drawn. */
export function diagramProblems(diagram: string): readonly string[] {
  const [head = '', ...lines] = diagram.split('\n').filter((line) => line.trim() !== '');
  const grammar = grammars.find(({ begins }) => begins.test(head.trim()));
  if (grammar === undefined) return [`no known kind of diagram: ${head}`];
  const statements = lines.map((line) => line.trim());
  return [
    ...statements
      .filter((line) => !grammar.statements.some((form) => form.test(line)))
      .map((line) => `not read: ${line}`),
    ...unbalanced(statements, grammar.opens),
    ...unpaired(statements),
    ...grammar.undeclared(statements),
  ];
}

interface Grammar {
  readonly begins: RegExp;
  /** The forms that a line may have. */
  readonly statements: readonly RegExp[];
  /** Lines that a line with `end` closes. */
  readonly opens: RegExp;
  readonly undeclared: (statements: readonly string[]) => readonly string[];
}

const id = String.raw`[A-Za-z]\w*`;
const label = `"[^"]+"`;
const node = String.raw`${id}(?:\(\[${label}\]\)|\[\(${label}\)\]|\[${label}\])?`;
const link = String.raw`(?:-->|---|-\.->|<-->)(?:\|${label}\|)?`;
const signal = new RegExp(String.raw`^(${id})(?:->>|-->>)(${id}): \S.*$`);
const participant = new RegExp(String.raw`^participant (${id}) as \S.*$`);
const state = new RegExp(`^state ${label} as (${id})$`);
const transition = new RegExp(String.raw`^(${id}|\[\*\]) --> (${id}|\[\*\])(?:: \S.*)?$`);

const grammars: readonly Grammar[] = [
  {
    begins: /^flowchart (?:TB|LR)$/,
    statements: [
      new RegExp(`^${node}(?: ${link} ${node})*$`),
      new RegExp(String.raw`^subgraph ${id}\[${label}\]$`),
      /^end$/,
    ],
    opens: /^subgraph /,
    undeclared: undeclaredNodes,
  },
  {
    begins: /^sequenceDiagram$/,
    statements: [
      participant,
      signal,
      /^(?:loop|par|alt|opt) \S.*$/,
      /^(?:and|else)(?: \S.*)?$/,
      /^end$/,
      new RegExp(`^Note over ${id}(?:,${id})?: \\S.*$`),
    ],
    opens: /^(?:loop|par|alt|opt) /,
    undeclared: (statements) => unknownNames(statements, participant, signal),
  },
  {
    begins: /^stateDiagram-v2$/,
    statements: [state, transition],
    opens: /^$/,
    undeclared: (statements) => unknownNames(statements, state, transition),
  },
];

function unbalanced(statements: readonly string[], opens: RegExp): readonly string[] {
  let depth = 0;
  for (const line of statements) {
    if (opens.test(line)) depth += 1;
    if (line === 'end') depth -= 1;
    if (depth < 0) return ['an "end" that closes nothing'];
  }
  return depth === 0 ? [] : ['a block without "end"'];
}

const unpaired = (statements: readonly string[]): readonly string[] =>
  statements
    .filter((line) => line.includes(';') || line.split('"').length % 2 === 0)
    .map((line) => `would break: ${line}`);

function unknownNames(statements: readonly string[], declaration: RegExp, use: RegExp): readonly string[] {
  const declared = new Set(statements.map((line) => declaration.exec(line)?.[1]));
  const used = statements.flatMap((line) => use.exec(line)?.slice(1, 3) ?? []);
  return used.filter((name) => name !== '[*]' && !declared.has(name)).map((name) => `not declared: ${name}`);
}

/** A node that no line gives a label is as a rule a misspelt one. */
function undeclaredNodes(statements: readonly string[]): readonly string[] {
  const text = statements.map((line) => line.replaceAll(new RegExp(`[|]${label}[|]`, 'g'), ''));
  const labelled = new Set(
    text.flatMap((line) => [...line.matchAll(new RegExp(`(${id})[[(]+"`, 'g'))].map(([, name]) => name)),
  );
  const used = text.flatMap(
    (line) => line.replaceAll(/"[^"]*"/g, '').match(new RegExp(`(?<![\\w-])${id}`, 'g')) ?? [],
  );
  return used
    .filter((name) => !['subgraph', 'end'].includes(name) && !labelled.has(name))
    .map((name) => `not declared: ${name}`);
}
