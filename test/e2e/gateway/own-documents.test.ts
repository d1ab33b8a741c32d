import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Applied } from '../../../lab/operator/kubectl.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { ownedAccessKeys } from '../../../src/api/resources.ts';
import { readDocument } from '../../../tools/reference/document.ts';
import { runElsewhere } from '../document-runs.ts';
import { isCommand, stepsOf } from '../document-steps.ts';
import { gatewayWorld } from './gateway-world.ts';
import { kubectlWith } from './known-holder.ts';

const world = await gatewayWorld();
const reader = world.name('reader');
const holder = await kubectlWith(world, { user: reader });
// For the list of everyone.
await giveRight(world.admin, reader, {
  ...{ apiGroups: [ownedAccessKeys.group], resources: [ownedAccessKeys.plural], verbs: ['list'] },
});
const folder = path.join(world.guard.folder, 'reader');
const authority = path.join(folder, 'ca.crt');
mkdirSync(folder);
writeFileSync(authority, world.gateway.ca);
writeFileSync(path.join(folder, '.curlrc'), 'fail\nsilent\nshow-error\n');
const file = 'docs/reference/own-credentials.md';
const page = readDocument(file);
for (const [, text = ''] of page.matchAll(/^```yaml\n(.*?)^```/gms)) {
  const manifest = parse(text) as Applied;
  writeFileSync(path.join(folder, `${manifest.metadata.name}.yaml`), text);
  holder.track(manifest);
}
const kubeconfig = await world.gateway.kubeconfig(holder.key);
const env = {
  ...process.env,
  PATH: `${path.dirname(world.plane.binaries.kubectl)}:${process.env['PATH']}`,
  ...{ KEY: holder.key, KUBECONFIG: kubeconfig, CURL_CA_BUNDLE: authority, CURL_HOME: folder },
  KUBECACHEDIR: path.join(world.plane.folder, 'kubectl-cache'),
};

/** The code blocks with commands, of which one may go on over several lines. */
const blocks = [...page.matchAll(/^```console\n(.*?)^```/gms)].map(([, block = '']) =>
  block.replace(/^\$ /gm, '').replaceAll('https://latchkey.example.com', world.gateway.url),
);
const exported = blocks.flatMap((block) => block.match(/^export .*$/gm) ?? []).join('\n');

it('the page about your own credentials works as it is written', () => {
  expect(blocks.length).toBeGreaterThan(7);
  for (const block of blocks) {
    // A watch goes on until somebody ends it.
    const endless = block.replace(/^(?=.*(?:watch=true|--watch))/gm, '! timeout 2 ');
    const script = `set -e\n${exported}\n${endless}`;
    const { status, stderr } = spawnSync('bash', ['-c', script], { cwd: folder, env, encoding: 'utf8' });
    expect([block, status, stderr]).toEqual([block, 0, stderr]);
  }
});

it('it is the page that the demo leaves to this test', () => {
  const sections = stepsOf(file)
    .filter(isCommand)
    .map(({ section }) => section);
  expect([...new Set(sections)]).toEqual(runElsewhere['test/e2e/gateway/own-documents.test.ts'][file]);
});
