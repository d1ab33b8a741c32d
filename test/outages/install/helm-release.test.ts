import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { startControlPlane } from '../../../lab/controlplane/control-plane.ts';
import { Guard } from '../../../lab/controlplane/guard.ts';
import { RunningGateway } from '../../../lab/gateway/running-gateway.ts';
import type { Stored } from '../../../lab/operator/api.ts';
import { healthOf } from '../../../lab/operator/telemetry.ts';
import { until } from '../../../lab/operator/until.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { type Fate, WriteGate } from '../../../lab/operator/write-gate.ts';
import { annotations, systemNamespace } from '../../../src/api/names.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { ownedAccessKeys } from '../../../src/api/resources.ts';
import { generateAccessKey } from '../../../src/credentials/keys/access-key.ts';
import { credentialHash } from '../../../src/credentials/keys/credential-hash.ts';
import { version } from '../../../src/version.ts';
import { packedChart } from '../../../tools/release/artifacts.ts';
import { buildTimeoutMs, Helm } from '../../clients/helm.ts';
import { LibraryClients } from '../../clients/library-clients.ts';
import { startRegistry } from '../../clients/registry.ts';
import { isCommand, stepsOf } from '../../e2e/document-steps.ts';
import { untilKnown, untilUnknown } from '../../e2e/gateway/known-holder.ts';
import { chartFolder, required } from './chart.ts';

/** The release before: its chart as it was packed, and an access key as its operator confirmed it. */
const before = path.resolve(import.meta.dirname, '../../fixtures/releases/0.1.0');
const chartBefore = path.join(before, 'latchkey-0.1.0.tgz');
const keyBefore = JSON.parse(readFileSync(path.join(before, 'access-key.json'), 'utf8'));

const plane = await startControlPlane({
  name: 'helm',
  users: [{ user: 'installer', groups: ['system:masters'] }],
});
afterAll(async () => await plane.stop());
const guard = await Guard.start('helm');
afterAll(async () => await guard.stop());
const helm = await Helm.build('v3', guard.folder);
const place = ['--namespace', systemNamespace];

const run = async (verb: string, ...args: string[]): Promise<string> =>
  await helm.ok(plane.adminKubeconfig, [verb, 'latchkey', ...args, ...place]);
const kubectl = async (...args: string[]): Promise<string> => {
  const { stdout, stderr, exitCode } = await plane.kubectl(args);
  if (exitCode !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
  return stdout;
};
const count = async (kinds: string): Promise<number> =>
  (await kubectl('get', kinds, '-o', 'name'))
    .split('\n')
    .filter((line) => line.includes('latchkey') || line.includes('management.platform.sh')).length;
const guards =
  'validatingadmissionpolicies,validatingadmissionpolicybindings,mutatingadmissionpolicies,mutatingadmissionpolicybindings';

/** The command of a page, as arguments for this tree. */
function argumentsOn(page: string, beginning: string): string[] {
  const found = stepsOf(page)
    .filter(isCommand)
    .find(({ block }) => block.command.startsWith(beginning));
  if (found === undefined) throw new Error(`${page} has no command ${beginning}`);
  const [, ...args] = found.block.command.replaceAll('\\\n', ' ').split(/\s+/);
  return args.map((arg) => (arg === 'charts/latchkey' ? chartFolder : arg));
}

const forged = generateAccessKey(randomBytes(32));

/** Installs it slowly: kinds and rights are there, policies are not, and someone is quick. */
async function installSlowly(): Promise<Stored> {
  const gate = await WriteGate.start(plane);
  const [noPolicies, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  gate.judge = async ({ plural }): Promise<Fate> => {
    if (!plural.includes('admissionpolic')) return 'pass';
    noPolicies.resolve();
    await goOn.promise;
    return 'pass';
  };
  const kubeconfig = await gate.access.kubeconfigWithToken('installer', plane.tokenOf('installer'));
  const args = ['install', 'latchkey', chartBefore, ...required, ...place, '--create-namespace'];
  const installed = helm.ok(kubeconfig, args);
  await Promise.race([noPolicies.promise, installed]);
  await kubectl(
    'create',
    'clusterrolebinding',
    'mallory',
    '--clusterrole=latchkey-self-service',
    '--user=mallory',
  );
  const manifest = {
    apiVersion: 'management.platform.sh/v1',
    kind: 'OwnedAccessKey',
    metadata: {
      name: 'early',
      annotations: {
        [annotations.requester]: 'installer',
        [annotations.requesterGroups]: '["system:masters"]',
      },
    },
    spec: { user: 'installer', ttl: 3_600, key: `sha256:${credentialHash(forged)}` },
  };
  const options = { kubeconfig: await plane.kubeconfigFor('mallory'), input: JSON.stringify(manifest) };
  const raw = ['create', '--raw', '/apis/management.platform.sh/v1/ownedaccesskeys', '-f', '-'];
  let said = '';
  const create = async () => {
    const { stderr, exitCode } = await plane.kubectl(raw, options);
    said = stderr;
    return exitCode === 0;
  };
  await until('someone makes a key before there are policies', create, { seen: () => said });
  goOn.resolve();
  await installed;
  await gate.close();
  return JSON.parse(await kubectl('get', 'oak', 'early', '-o', 'json'));
}

const early = await installSlowly();
// The world finds it installed.
await writeFile(path.join(plane.folder, 'latchkey-installed'), '');
const world = await operatorWorld({ plane, operator: false, clear: false, policies: await count(guards) });
const { admin } = world;

let gateway: RunningGateway;
let kept: Stored;
afterAll(async () => void (await gateway?.end()));

/** New ones, with tokens of the accounts that are there now. */
async function startParts(): Promise<void> {
  const operator = await world.startOperator();
  await until('all policies are there', async () => (await healthOf(operator, '/readyz')).status === 200, {
    timeoutMs: 90_000,
  });
  gateway = await RunningGateway.start(plane, world.guard, { name: world.name('gateway') });
}

async function endParts(): Promise<void> {
  await Promise.all([world.operator.end(), gateway.end()]);
}

const newKey = async (): Promise<string> => {
  const key = generateAccessKey(randomBytes(32));
  const spec = { user: 'alice', ttl: 3_600, key: `sha256:${credentialHash(key)}` };
  const alice = await world.user('alice');
  await admin.untilReady(await alice.api.create(ownedAccessKeys, spec));
  return key;
};

/** As the operator of the release before left it. */
async function keyOfReleaseBefore(): Promise<Stored> {
  const alice = await world.user('alice');
  const made = await alice.api.create(ownedAccessKeys, keyBefore.spec);
  const start = Date.parse(made.metadata.creationTimestamp ?? '');
  const end = new Date(start + keyBefore.spec.ttl * 1_000).toISOString().replace('.000', '');
  const status = JSON.parse(
    JSON.stringify(keyBefore.status)
      .replaceAll('<creation>', made.metadata.creationTimestamp ?? '')
      .replaceAll('<end>', end),
  );
  const patch = ['patch', 'oak', made.metadata.name, '--subresource=status', '--type=merge'];
  // Policies know the account by its name. kubectl reads what it patches, which the account may not.
  const as = ['--as=system:serviceaccount:latchkey-system:latchkey-operator', '--as-group=system:masters'];
  await kubectl(...patch, '-p', JSON.stringify({ status }), ...as);
  return await admin.get(made);
}

const factsOf = ({ metadata, status }: Stored): object => {
  const { credentialHash: hash, fingerprint, notAfter, serial, state } = status;
  return { uid: metadata.uid, hash, fingerprint, notAfter, serial, state };
};

describe('a release of Helm', () => {
  // The gateway of this release waits for a kind that the release before does not have.
  it('installs the release before, and there is a key', async () => {
    kept = await keyOfReleaseBefore();
    const release = await kubectl(
      'get',
      'secret',
      ...place,
      '-l',
      'owner=helm',
      '-o',
      'jsonpath={.items[0].data.release}',
    );
    expect(release.length).toBeLessThan(2 ** 19);
  });

  it('upgrades without a warning of the API server, and the key works on', async () => {
    const upgrade = ['upgrade', 'latchkey', chartFolder, ...required, ...place];
    expect(await helm.okWithoutWarning(plane.adminKubeconfig, upgrade)).toContain('STATUS: deployed');
    await startParts();
    await untilKnown(gateway, keyBefore.key);
    expect(factsOf(await admin.get(kept))).toEqual(factsOf(kept));
    await untilKnown(gateway, await newKey());
  });

  it(
    'has no drift in the eyes of helm-controller, which finds what someone changed',
    async () => {
      const flux = await LibraryClients.build(guard.folder);
      const manifests = await helm.ok(plane.adminKubeconfig, ['get', 'manifest', 'latchkey', ...place]);
      const drift = async () => await flux.run(['drift', plane.adminKubeconfig], manifests);
      expect(await drift()).toEqual(['']);
      await kubectl('scale', 'deployment/latchkey-operator', '--replicas=0', ...place);
      expect(await drift()).toEqual([
        expect.stringMatching(/^update Deployment latchkey-operator .*replicas/),
      ]);
      await kubectl('scale', 'deployment/latchkey-operator', '--replicas=2', ...place);
    },
    buildTimeoutMs,
  );

  it('gave nothing to someone who made a key before the policies were there', async () => {
    const refused = await admin.untilRefused(early, reasons.requesterUnknown);
    expect(refused.status.credentialHash).toBeUndefined();
    await untilUnknown(gateway, forged);
  });

  it('rolls back, and the key works on', async () => {
    await run('rollback', '1');
    await untilKnown(gateway, keyBefore.key);
    expect(factsOf(await admin.get(kept))).toEqual(factsOf(kept));
  });

  it('is uninstalled: keys, kinds and policies are there, and the key is refused', async () => {
    const there = [await count('crd'), await count(guards)];
    await helm.ok(plane.adminKubeconfig, argumentsOn('docs/guide/uninstall.md', 'helm uninstall'));
    expect([await count('crd'), await count(guards)]).toEqual(there);
    expect(there[0]).toBe(7);
    expect(factsOf(await admin.get(kept))).toEqual(factsOf(kept));
    const refused = async () => {
      const { statusCode, body } = await gateway.send('/kubernetes/management/version', {
        key: keyBefore.key,
      });
      await body.dump();
      return statusCode >= 400;
    };
    await until('the gateway has no account any more', refused);
    await endParts();
  });

  it('does not take over what another release left, unless you say so', async () => {
    const other = ['install', 'other', chartFolder, ...required, ...place, '--dry-run=server'];
    const refused = await helm.run(plane.adminKubeconfig, other);
    expect(refused.stderr).toContain('cannot be imported into the current release');
    await helm.ok(plane.adminKubeconfig, [...other, '--take-ownership']);
  });

  it('is installed again from a registry, and the key works as before', async () => {
    const charts = `oci://${await startRegistry(guard)}/charts`;
    const file = path.join(guard.folder, `latchkey-${version}.tgz`);
    await writeFile(file, packedChart());
    await helm.ok('/dev/null', ['push', file, charts, '--plain-http']);
    const fromRegistry = [`${charts}/latchkey`, `--version=${version}`, '--plain-http'];
    const args = argumentsOn('docs/guide/install.md', 'helm install');
    const given = args.flatMap((arg) => (arg === chartFolder ? fromRegistry : [arg]));
    expect(given.length).toBe(args.length + 2);
    await helm.okWithoutWarning(plane.adminKubeconfig, given);
    await startParts();
    await untilKnown(gateway, keyBefore.key);
    expect(factsOf(await admin.get(kept))).toEqual(factsOf(kept));
    await untilKnown(gateway, await newKey());
  });

  it('is removed for good by the commands of the page, and nothing of it stays', async () => {
    const steps = stepsOf('docs/guide/uninstall.md').filter(isCommand);
    const commands = steps.filter(({ section }) => section === 'For good').map(({ block }) => block.command);
    const parts = commands.map((command) => command.replaceAll('\\\n', ' ').split(/\s+/).slice(1));
    const objects = parts.filter((args) => args.includes('--all'));
    expect([objects.length, parts.length]).toEqual([4, 7]);
    for (const args of objects) await kubectl(...args, '--timeout=120s');
    await endParts();
    await run('uninstall');
    for (const args of parts.slice(objects.length)) await kubectl(...args, '--timeout=120s');
    expect([await count('crd'), await count(guards)]).toEqual([0, 0]);
    expect(await count('namespaces,clusterroles,clusterrolebindings')).toBe(0);
  });
});
