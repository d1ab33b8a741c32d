import { spawn } from 'node:child_process';
import { globSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { createAuthority, createServer } from '../../../lab/controlplane/certificates.ts';
import { notRun, sectionsElsewhere } from '../document-runs.ts';
import { type Command, isCommand, isManifest, type Manifest, type Step, stepsOf } from '../document-steps.ts';
import { epilogue, linesOf, prelude } from './command-lines.ts';

const root = path.resolve(import.meta.dirname, '../../..');
/** What changes the whole installation comes last. */
const lastPages = ['site-policy', 'install', 'gateway', 'operate', 'signing-keys', 'upgrade'].map(
  (name) => `docs/guide/${name}.md`,
);
const found = ['README.md', ...globSync('docs/guide/*.md', { cwd: root }).sort()];
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
  for (const { block } of manifests) writeFileSync(path.join(place, block.file), block.content);
  const { certificate, key } = createServer(createAuthority('site'), ['localhost']);
  writeFileSync(path.join(place, 'tls.crt'), certificate);
  writeFileSync(path.join(place, 'tls.key'), key, { mode: 0o600 });
  const script = ['set -e -o pipefail', `source ${environment}`, ...prelude, ...scriptOf(page), epilogue];
  const child = spawn('bash', ['-c', script.join('\n')], { cwd: place, stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? 1)));
  const [stderr, exitCode] = await Promise.all([text(child.stderr), ended]);
  return { exitCode, stderr };
}

export function scriptOf(page: string): readonly string[] {
  const commands = commandsOf(page);
  const applied = new Set(manifests.filter((step) => isApplied(step, commands)));
  const once = (step: Step<Manifest>): string[] => {
    if (applied.has(step)) return [];
    applied.add(step);
    return [apply(step)];
  };
  return allSteps.flatMap((step) => {
    if (isManifest(step)) return step.page === page && isForDemo(step) ? once(step) : [];
    if (!isCommand(step) || !commands.includes(step)) return [];
    return [...takenForGranted(step).flatMap(once), `${asPerson(step)}\n${linesOf(step.block)}`];
  });
}

/** Whether the page has the command that applies the manifest. */
const isApplied = ({ block }: Step<Manifest>, commands: readonly Step<Command>[]): boolean =>
  block.file === 'kustomization.yaml' ||
  commands.some(({ block: { command } }) => command.includes(`-f ${block.file}`));

/** test/e2e/documents.test.ts makes the namespaces that others take for granted. */
const isForDemo = (step: Step<Manifest>): boolean =>
  !isElsewhere(step) && step.block.objects.every(({ metadata }) => metadata?.namespace !== 'p-gitops');

/** Manifests of which the command names an object or its Secret. */
function takenForGranted({ block: { command } }: Step<Command>): readonly Step<Manifest>[] {
  const names = [...command.matchAll(/\b(?:oak|dcet|vcik|secret)[ /]([\w-]+)/g)].map(([, name = '']) => name);
  return manifests.filter(({ block }) =>
    block.objects.some((object) => names.some((name) => isAbout(object, name))),
  );
}

const isAbout = (object: Manifest['objects'][number], name: string): boolean =>
  object.metadata?.name === name || (object.spec as SecretSpec | undefined)?.secretRef?.name === name;

interface SecretSpec {
  readonly secretRef?: { readonly name: string };
}

const asPerson = ({ person }: Step): string =>
  `export KUBECONFIG=${person === 'KUBECONFIG' ? '$ALICE' : `$${person}`}`;

const apply = (step: Step<Manifest>): string =>
  [
    asPerson(step),
    `echo '$ kubectl apply -f ${step.block.file}' >&2`,
    `kubectl apply -f ${step.block.file}`,
  ].join('\n');
