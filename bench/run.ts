import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Benchmark, Section } from './benchmark.ts';
import { activity } from './benchmarks/activity.ts';
import { applyToReady } from './benchmarks/apply-to-ready.ts';
import { auditLine } from './benchmarks/audit-line.ts';
import { authorize } from './benchmarks/authorize.ts';
import { badKeyFlood } from './benchmarks/bad-key-flood.ts';
import { byPost } from './benchmarks/by-post.ts';
import { cliStart } from './benchmarks/cli-start.ts';
import { coldStart } from './benchmarks/cold-start.ts';
import { copies } from './benchmarks/copies.ts';
import { directEndpoint } from './benchmarks/direct-endpoint.ts';
import { exchange } from './benchmarks/exchange.ts';
import { expiryStorm } from './benchmarks/expiry-storm.ts';
import { fairness } from './benchmarks/fairness.ts';
import { kubeconfig } from './benchmarks/kubeconfig.ts';
import { memory100k } from './benchmarks/memory-100k.ts';
import { noisyUser } from './benchmarks/noisy-user.ts';
import { ownLists } from './benchmarks/own-lists.ts';
import { policyCost } from './benchmarks/policy-cost.ts';
import { proxyGet } from './benchmarks/proxy-get.ts';
import { proxyList } from './benchmarks/proxy-list.ts';
import { proxyWatch } from './benchmarks/proxy-watch.ts';
import { reconcile } from './benchmarks/reconcile.ts';
import { recordMemory } from './benchmarks/record-memory.ts';
import { revoke } from './benchmarks/revoke.ts';
import { rollOut } from './benchmarks/roll-out.ts';
import { scopeWebhook } from './benchmarks/scope-webhook.ts';
import { tokenIssue } from './benchmarks/token-issue.ts';
import { upgrade } from './benchmarks/upgrade.ts';
import { withdrawal } from './benchmarks/withdrawal.ts';
import { runCommandLine } from './command-line.ts';
import { machineFacts } from './measure/machine.ts';
import { renderReport, renderSection } from './measure/report.ts';
import { type Options, parseOptions, usage } from './options.ts';

const benchmarks: readonly Benchmark[] = [
  tokenIssue,
  recordMemory,
  applyToReady,
  fairness,
  expiryStorm,
  kubeconfig,
  withdrawal,
  policyCost,
  reconcile,
  proxyGet,
  proxyList,
  proxyWatch,
  upgrade,
  copies,
  byPost,
  exchange,
  cliStart,
  ownLists,
  authorize,
  auditLine,
  revoke,
  activity,
  badKeyFlood,
  noisyUser,
  rollOut,
  memory100k,
  coldStart,
  directEndpoint,
  scopeWebhook,
];

interface Chosen {
  readonly args: readonly string[];
  readonly options: Options;
  readonly chosen: readonly Benchmark[];
}

function choose(args: readonly string[]): Chosen {
  const options = parseOptions(args);
  const chosen = options.names.length === 0 ? benchmarks : options.names.map(benchmarkOf);
  return { args, options, chosen };
}

/** One named benchmark prints its table; all of them together become a page of results. */
async function main({ options, chosen, args }: Chosen): Promise<void> {
  const facts = await machineFacts();
  const sections: Section[] = [];
  for (const benchmark of chosen) {
    const section = await benchmark.run({ options, progress: (text) => progress(benchmark.name, text) });
    sections.push(section);
    console.log(renderSection(section));
  }
  if (options.names.length === 0) await writeResults(args, facts, sections);
}

function benchmarkOf(name: string): Benchmark {
  const found = benchmarks.find((benchmark) => benchmark.name === name);
  if (found === undefined) {
    const names = benchmarks.map((benchmark) => benchmark.name).join(', ');
    throw new TypeError(`no benchmark "${name}": there are ${names}`);
  }
  return found;
}

async function writeResults(
  args: readonly string[],
  facts: readonly string[],
  sections: readonly Section[],
): Promise<void> {
  const date = new Date().toISOString().slice(0, 10);
  const folder = path.join(import.meta.dirname, 'results');
  const file = path.join(folder, `${date}.md`);
  const command = ['npm run bench', ...(args.length === 0 ? [] : ['--', ...args])].join(' ');
  await mkdir(folder, { recursive: true });
  await writeFile(file, renderReport({ date, command, facts, sections }));
  console.error(`written to ${path.relative(process.cwd(), file)}`);
}

/** Progress goes to standard error, so that standard output is the table alone. */
function progress(name: string, text: string): void {
  console.error(`${new Date().toISOString().slice(11, 19)} ${name}: ${text}`);
}

await runCommandLine(usage, choose, main);
