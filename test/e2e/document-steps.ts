import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { parseAllDocuments } from 'yaml';
import type { ControlPlaneAccess } from '../../lab/controlplane/access.ts';
import type { Applied } from '../../lab/operator/kubectl.ts';

/** Something that a document has its reader do: keep manifests as a file, or run a command. */
type Step =
  | { readonly file: string; readonly content: string; readonly manifests: readonly Applied[] }
  | { readonly command: string; readonly output: string };

/** A reader of the documents, who works in a folder. */
interface Reader {
  readonly plane: ControlPlaneAccess;
  readonly kubeconfig: string;
  readonly folder: string;
}

/** The steps in the code blocks of a document. Manifests go to a file with the name of the first object. */
export function stepsIn(document: string): readonly Step[] {
  const blocks = document.matchAll(/^```(yaml|console)\n(.*?)^```/gms);
  return [...blocks].flatMap(([, language, block = '']) =>
    language === 'yaml' ? [fileOf(block)] : commandsIn(block),
  );
}

function fileOf(content: string): Step {
  const manifests = parseAllDocuments(content).map((document) => document.toJS() as Applied);
  return { file: `${manifests[0]?.metadata.name}.yaml`, content, manifests };
}

const commandsIn = (block: string): Step[] =>
  block
    .split(/^\$ /m)
    .slice(1)
    .map((text) => {
      const [command = '', ...output] = text.split('\n');
      return { command, output: output.join('\n') };
    });

/** @throws Error when a command fails that the document shows to work, or works where it shows a failure. */
export async function takeStep({ plane, kubeconfig, folder }: Reader, step: Step): Promise<void> {
  if ('file' in step) return writeFileSync(path.join(folder, step.file), step.content);
  // Not every machine has jq, which only cuts the output to size.
  const command = step.command.replace(/ \| jq .*/, '');
  const child = spawn('bash', ['-o', 'pipefail', '-c', command], {
    cwd: folder,
    env: {
      ...process.env,
      PATH: `${path.dirname(plane.binaries.kubectl)}:${process.env['PATH']}`,
      KUBECONFIG: kubeconfig,
      KUBECACHEDIR: path.join(plane.folder, 'kubectl-cache'),
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? 1)));
  const [stderr, code] = await Promise.all([text(child.stderr), ended]);
  const failure = /^Error from server \((\w+)\)/.exec(step.output)?.[1];
  const isAsShown = failure === undefined ? code === 0 : stderr.includes(`(${failure})`);
  if (!isAsShown) throw new Error(`${command} ended with ${code}: ${stderr}`);
}
