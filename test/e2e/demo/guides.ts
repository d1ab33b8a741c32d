import { spawn } from 'node:child_process';
import { globSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { notRun, sectionsElsewhere } from '../document-runs.ts';
import { type Command, isCommand, isManifest, type Manifest, type Step, stepsOf } from '../document-steps.ts';
import { epilogue, linesOf, prelude } from './command-lines.ts';

/** Of the page that installs Latchkey. Other pages go on from there. */
const overlay = 'kustomization.yaml';
const root = path.resolve(import.meta.dirname, '../../..');
/** Pages that change the whole installation come last. */
const lastPages = ['site-policy', 'install', 'run-gateway', 'operate', 'monitoring', 'upgrade'].map(
  (name) => `docs/guide/${name}.md`,
);
const ofReference = [
  'alerts',
  'kubeconfig-request',
  'locks',
  'own-credentials',
  'scope',
  'self',
  'signing-keys',
  'trusting-clusters',
  'vcluster-cli',
].map((name) => `docs/reference/${name}.md`);
const found = [
  'README.md',
  'docs/first-key.md',
  'docs/tutorial.md',
  ...globSync('docs/guide/*.md', { cwd: root }).sort(),
  ...ofReference,
];
export const pages = [...found.filter((page) => !lastPages.includes(page)), ...lastPages];

const allSteps = pages.flatMap((page) => stepsOf(page));
export const allCommands = allSteps.filter(isCommand);
const manifests = allSteps.filter(isManifest);

export const isElsewhere = ({ page, section }: Step): boolean =>
  sectionsElsewhere.some((one) => one.page === page && one.section === section);

export const isListed = ({ page, block }: Step<Command>, entry: (typeof notRun)[number]): boolean =>
  entry.page === page && block.command.startsWith(entry.command);

/** The commands of a page that the demo is the place for. */
export const commandsOf = (page: string): readonly Step<Command>[] =>
  allCommands
    .filter((step) => step.page === page && !isElsewhere(step))
    .filter((step) => !notRun.some((entry) => isListed(step, entry)));

/**
 * Takes the steps of a page in one shell of a reader, who has what the demo gives. Resolves with the exit code, and with what
 * says how far it came.
 */
export async function readPage(page: string, environment: string, folder: string) {
  const place = path.join(folder, path.basename(page));
  mkdirSync(place);
  symlinkSync(root, path.join(place, 'latchkey'));
  symlinkSync('latchkey/config', path.join(place, 'config'));
  const files = manifests.filter((step) => step.page === page || step.block.file === overlay);
  for (const { block } of files) writeFileSync(path.join(place, block.file), block.content);
  const script = ['set -e -o pipefail', `source ${environment}`, ...prelude, ...scriptOf(page), epilogue];
  const child = spawn('bash', ['-c', script.join('\n')], { cwd: place, stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? 1)));
  const [stderr, exitCode] = await Promise.all([text(child.stderr), ended]);
  return { exitCode, stderr };
}

/** Only what the page itself shows: a page makes what it uses. */
export function scriptOf(page: string): readonly string[] {
  const commands = commandsOf(page);
  return allSteps
    .filter((step) => step.page === page && !isElsewhere(step))
    .flatMap((step) => {
      if (isManifest(step)) return isApplied(step, commands) ? [] : [apply(step)];
      return isCommand(step) && commands.includes(step) ? [`${asPerson(step)}\n${linesOf(step.block)}`] : [];
    });
}

/** Whether the page has the command that applies the manifest. */
const isApplied = ({ block }: Step<Manifest>, commands: readonly Step<Command>[]): boolean =>
  block.file === overlay || commands.some(({ block: { command } }) => command.includes(`-f ${block.file}`));

const asPerson = ({ person }: Step): string =>
  `export KUBECONFIG=${person === 'KUBECONFIG' ? '$ALICE' : `$${person}`}`;

const apply = (step: Step<Manifest>): string =>
  [
    asPerson(step),
    `echo '$ kubectl apply -f ${step.block.file}' >&2`,
    `kubectl apply -f ${step.block.file}`,
  ].join('\n');
