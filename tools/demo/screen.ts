import type { Step } from './command-line.ts';
import { type Newcomers, newcomer } from './newcomers.ts';
import { type Answer, deleteBoth, disableKey, ordinaryUser, type Story, type TokenLife } from './story.ts';

/** The facts beside the story on the screen. */
export interface Place {
  /** A file with everything to try things with, for a shell. */
  readonly environment: string;
  /** Where people see their keys in a browser. */
  readonly pageURL: string;
  /** Where each process answers people and Prometheus. */
  readonly addresses: readonly Addresses[];
}

export interface Addresses {
  readonly name: string;
  readonly metrics: string;
  readonly probe: string;
}

const width = 100;

/** The story as people read it, and no line that a terminal would break. */
export const renderStory = (story: Story): string => lines(['', ...storyLines(story)]);

/** Renders what to do next, where things go on running. */
export const renderTrials = (place: Place): string => lines(['', ...trialLines(place)]);

/** Renders what a person and a pipeline did who had nothing before. */
export const renderNewcomers = ({ person, pipeline }: Newcomers): string =>
  lines([
    '',
    `${newcomer} has nothing: no kubeconfig, no key, no right by name. The site's provider knows the rest.`,
    ...person.flatMap((step) => (typeof step === 'string' ? step : stepLines(newcomer, step))),
    'A pipeline has the token that its platform signs, and stores no secret:',
    ...pipeline.flatMap((step) => stepLines('job', step)),
  ]);

const stepLines = (who: string, { command, said }: Step): string[] => [
  `  ${who}$ ${command}`,
  ...squeezed(said).map((line) => `    ${line}`),
];

const lines = (all: readonly string[]): string =>
  all.map((line) => (line.length > width ? `${line.slice(0, width - 1)}…` : line)).join('\n');

const storyLines = (story: Story): string[] => [
  `${ordinaryUser} is an ordinary user: bound to latchkey-self-service, with no right to read keys.`,
  `  ${ordinaryUser}$ kubectl create -k $SAMPLES/self-service`,
  ...story.created.map((line) => `    ${line}`),
  'The key went to a Secret, and opens one virtual cluster and the cluster staging. At the gateway:',
  asked(story.inside),
  asked(story.outside),
  'The token below it lives for a minute. Latchkey renews it in its Secret, as often as it takes:',
  ...story.renewed.map(life),
  `alice runs the platform (latchkey-admin). kubectl auth can-i get oak: alice ${story.mayRead.administrator}, ${ordinaryUser} ${story.mayRead.user}.`,
  `  alice$ kubectl ${quoted(disableKey)}`,
  askedAgain(story.disabled),
  `  ${ordinaryUser}$ kubectl ${deleteBoth.join(' ')}`,
  askedAgain(story.deleted),
];

const asked = ({ path, status, text }: Answer): string => `    ${status}  GET ${path}  ${text}`;

const askedAgain = ({ status, text }: Answer): string =>
  `    ${status}  the same request: ${text.split('. ')[0]}`;

/** A table with two spaces between its columns, where kubectl leaves three. */
function squeezed(rows: readonly string[]): readonly string[] {
  const width = Math.max(...rows.map((row) => row.length));
  const at = Array.from({ length: width }, (_, i) => i).findLast((i) => rows.every((row) => isWide(row, i)));
  if (at === undefined) return rows;
  return squeezed(rows.map((row) => row.slice(0, at) + row.slice(at + 1)));
}

const isWide = (row: string, at: number): boolean =>
  row.slice(at, at + 3).trim() === '' && at + 3 <= row.length;

const clock = (date: Date): string => date.toISOString().slice(11, 19);

const life = ({ serial, issued, end }: TokenLife): string =>
  `    serial ${serial}, issued ${clock(issued)}, ends ${clock(end)} UTC`;

const quoted = (args: readonly string[]): string =>
  args.map((arg) => (/["{]/.test(arg) ? `'${arg}'` : arg)).join(' ');

const trialLines = ({ environment, pageURL, addresses }: Place): string[] => [
  `To try things as alice, in another terminal (${ordinaryUser}: --kubeconfig=$BOB, cluster administrator: $ADMIN):`,
  `  source ${environment}`,
  '  kubectl get oak,dcet                             what became of the samples',
  '  kubectl --kubeconfig=$PLATFORM get ns            with a key of alice, through the gateway',
  '  kubectl --kubeconfig=$SHOP get ns                with a certificate; kubectl delete vcik ends it',
  '  echo $DANA_PASSWORD                              what dana types at the provider',
  `  ${pageURL}  the page: paste $KEY. Your browser must accept $GATEWAY, too`,
  '  npm run demo -- --verbose                        claims, POST requests, more to try',
  ...addresses.map(({ name, metrics, probe }) => `  ${name.padEnd(9)}${metrics}  ${probe}`),
];
