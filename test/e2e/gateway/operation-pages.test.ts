import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { base64 } from '../../../lab/controlplane/kubeconfig.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { baseURL } from '../../../lab/operator/running-operator.ts';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { runElsewhere } from '../document-runs.ts';
import { isCommand, stepsOf } from '../document-steps.ts';
import { Project } from '../kubeconfigs/kubeconfig-world.ts';
import { gatewayWorld } from './gateway-world.ts';
import { knownHolder, untilReached } from './known-holder.ts';

const world = await gatewayWorld();
const { admin, gateway, guard, plane } = world;
const project = await Project.ready(world, await sharedVirtualCluster());
const { key } = await knownHolder(world, { user: 'alice' });
await untilReached(gateway, key, `project/${project.name}/virtualcluster/${project.instance.metadata.name}`);
const { key: other } = await knownHolder(world, { user: 'alice' });
const kubeconfig = await gateway.kubeconfig(key);
await giveRight(admin, 'alice', { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list'] });
const folder = path.join(guard.folder, 'operation-pages');
const caFile = path.join(folder, 'latchkey-ca.crt');
mkdirSync(folder);
writeFileSync(caFile, gateway.ca);

/** Replaces what a reader's curl and kubectl have and a test has elsewhere: the gateway, its authority, and the instance. */
const here = (command: string): string =>
  command
    .replaceAll(baseURL, gateway.url)
    .replaceAll(/\bcurl (?:--cacert \S+ )?/g, `curl --silent --show-error --fail --cacert ${caFile} `)
    .replaceAll('p-demo', project.namespace)
    .replaceAll('virtualclusterinstances/shop/', `virtualclusterinstances/${project.instance.metadata.name}/`)
    .replace('jq -r .status.kubeConfig', `$& | sed -E '${leadHere}'`);
/** Of a kubeconfig. */
const leadHere = `s#${baseURL}#${gateway.url}#; s#(certificate-authority-data: ).*#\\1${base64(gateway.ca)}#`;

const run = async (command: string): Promise<string> => {
  const env = {
    ...process.env,
    ...{ KEY: key, OTHER: other, KUBECONFIG: kubeconfig },
    PATH: `${path.dirname(plane.binaries.kubectl)}:${process.env['PATH']}`,
    KUBECACHEDIR: path.join(plane.folder, 'kubectl-cache'),
  };
  const args = ['-e', '-o', 'pipefail', '-c', here(command)];
  return (await promisify(execFile)('bash', args, { cwd: folder, env })).stdout;
};

const sections: readonly [page: string, section: string, outputs: RegExp[]][] = [
  ['docs/reference/self.md', 'In 60 seconds', [/"accessKey":/, /\n {2}accessKey: /]],
  ['docs/reference/self.md', 'Ask about another key', [/"accessKey":/]],
  ['docs/reference/kubeconfig-request.md', 'In 60 seconds', [/^$/, /^NAME +STATUS/, /"kubeConfig":/]],
  ['docs/reference/kubeconfig-request.md', 'Take it back', [/"items":/, /^NAME +SUBJECT/, /deleted/]],
  ['docs/reference/trusting-clusters.md', 'The documents', [/"jwks_uri":/, /"keys":\[/, /"keys":\[/]],
  [
    'docs/guide/gateway.md',
    'In 60 seconds',
    [/"items":/, /^$/, /set\.$/m, /set\.$/m, /created\.$/m, /^Switched/, /^NAME +DATA/],
  ],
  ['docs/guide/gateway.md', 'Discovery', [/^selves /m, /projectNamespacePrefix/, /"selves"/]],
  ['docs/guide/gateway.md', 'What you may do', [/^yes$/m, /"allowed": ?true/]],
];

it.each(sections)('the commands of %s, "%s", do what the page says', async (file, section, outputs) => {
  const steps = stepsOf(file).filter((step) => step.section === section);
  const commands = steps.filter(isCommand).map(({ block }) => block.command);
  expect(commands).toHaveLength(outputs.length);
  for (const [index, command] of commands.entries())
    expect(await run(command)).toMatch(outputs[index] ?? /$^/);
});

it('these are the sections that the demo leaves to this test', () => {
  const left = Object.entries(runElsewhere['test/e2e/gateway/operation-pages.test.ts']).flatMap(
    ([page, names]) => names.map((name) => [page, name]),
  );
  expect(sections.map(([page, section]) => [page, section])).toEqual(expect.arrayContaining(left));
  expect(sections).toHaveLength(left.length);
});
