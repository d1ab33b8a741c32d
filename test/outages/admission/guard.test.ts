import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installLatchkey } from '../../../lab/operator/install.ts';
import { startInstalled } from '../../../lab/operator/installed-plane.ts';
import { until } from '../../../lab/operator/until.ts';
import { labels } from '../../../src/api/names.ts';
import { createKubeClient } from '../../../src/kube/client/client.ts';
import { kubeConfigSource } from '../../../src/kube/client/kube-config.ts';
import { systemClock } from '../../../src/kube/clock.ts';
import { silentLogger } from '../../../src/logger.ts';
import { type AdmissionCheck, AdmissionGuard } from '../../../src/operator/admission/admission-guard.ts';
import { policyVersion } from '../../../src/operator/admission/generated/shipped-policies.ts';
import { type Rendered, render } from '../../integration/config/render.ts';

const plane = await startInstalled({ name: 'guard' });
const client = createKubeClient({
  kubeConfig: kubeConfigSource({
    file: await plane.kubeconfigFor('system:serviceaccount:latchkey-system:latchkey-operator'),
  }),
  userAgent: 'latchkey-test',
});
const abort = new AbortController();
const checks: AdmissionCheck[] = [];
const guard = new AdmissionGuard({
  client,
  clock: systemClock,
  random: Math.random,
  log: silentLogger,
  onCheck: (check) => void checks.push(check),
  onKnown: () => undefined,
});
let running: Promise<void>;
let shipped: readonly Rendered[];

const kubectl = async (...args: string[]): Promise<string> => {
  const { exitCode, stdout, stderr } = await plane.kubectl(args);
  if (exitCode !== 0) throw new Error(stderr);
  return stdout;
};

const untilProblem = async (problem: string | undefined): Promise<void> =>
  void (await until(`the guard says: ${problem}`, async () => guard.problem() === problem, {
    seen: () => guard.problem(),
  }));

const policy = 'validatingadmissionpolicy/latchkey-requester-integrity';
const binding = 'validatingadmissionpolicybinding/latchkey-requester-integrity';
const missing = (what: string): string => `missing, older or edited: ${what}`;

const patch = async (object: string, spec: object): Promise<string> =>
  await kubectl('patch', object, '--type=merge', '-p', JSON.stringify({ spec }));

/** As the page about operation says: an apply would keep fields that somebody added. */
const restore = async (verb: 'replace' | 'apply' = 'replace'): Promise<void> => {
  const items = shipped.filter(({ metadata }) => metadata.name === 'latchkey-requester-integrity');
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  const { exitCode, stderr } = await plane.kubectl([verb, '-f', '-'], { input });
  if (exitCode !== 0) throw new Error(stderr);
};

const createdAt = async (object: string): Promise<number> =>
  Date.parse(await kubectl('get', object, '-o', 'jsonpath={.metadata.creationTimestamp}'));

/** Epoch milliseconds. Of the spec: the controller manager writes the status, and it may do so in the next second. */
async function lastWrite(object: string): Promise<number> {
  const { metadata } = JSON.parse(await kubectl('get', object, '-o', 'json', '--show-managed-fields'));
  const entries: { time: string; subresource?: string }[] = metadata.managedFields;
  const writes = entries.filter(({ subresource }) => subresource === undefined);
  return Math.max(...writes.map(({ time }) => Date.parse(time)));
}

beforeAll(async () => {
  await installLatchkey(plane);
  shipped = await render(plane, 'default');
  running = guard.run(abort.signal);
  await untilProblem(undefined);
});

afterAll(async () => {
  abort.abort();
  await running;
  await client.close();
  await plane.stop();
});

/** The tests build on each other: what one breaks it repairs. */
describe('the guard with the rights of the operator', () => {
  it('finds every policy and binding as shipped, with what the API server adds to them', async () => {
    expect(guard.problem()).toBeUndefined();
    expect(guard.trustedSince()).toBeGreaterThanOrEqual(await createdAt(policy));
  });

  it.each<[string, string, object, string]>([
    ['an expression', policy, { validations: [{ expression: 'true' }] }, 'validations'],
    [
      'a condition',
      policy,
      { matchConditions: [{ name: 'never', expression: 'false' }] },
      'matchConditions[0].name',
    ],
    ['what fails lets pass', policy, { failurePolicy: 'Ignore' }, 'failurePolicy'],
    [
      'objects',
      policy,
      { matchConstraints: { objectSelector: { matchLabels: { a: 'b' } } } },
      'matchConstraints.objectSelector',
    ],
    ['Audit', binding, { validationActions: ['Audit'] }, 'validationActions[0]'],
    [
      'a selector',
      binding,
      { matchResources: { objectSelector: { matchLabels: { a: 'b' } } } },
      'matchResources',
    ],
  ])('notices an edit in place: %s', async (_, object, spec, field) => {
    await patch(object, spec);
    const kind = object.startsWith('validatingadmissionpolicybinding') ? 'Binding' : '';
    await untilProblem(
      missing(`ValidatingAdmissionPolicy${kind}/latchkey-requester-integrity (spec.${field})`),
    );
    expect(guard.trustedSince()).toBe(0);
    await restore();
    await until('the edit is undone', async () => guard.trustedSince() > 0);
    expect(guard.trustedSince()).toBe((await lastWrite(object)) + 5_000);
  });

  it('counts a newer version as there', async () => {
    const label = `${labels.policyVersion}=${policyVersion + 1}`;
    await kubectl('label', '--overwrite', binding, label);
    await patch(binding, { validationActions: ['Deny', 'Audit'] });
    await kubectl('label', '--overwrite', policy, `${labels.policyVersion}=${policyVersion - 1}`);
    await untilProblem(missing('ValidatingAdmissionPolicy/latchkey-requester-integrity'));
    await restore();
    await untilProblem(undefined);
  });

  it('reports one of an earlier release that was left behind, until the command of the upgrade page removes it', async () => {
    const input = JSON.stringify({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: {
        name: 'latchkey-stamps',
        labels: { 'app.kubernetes.io/part-of': 'latchkey', [labels.policyVersion]: '3' },
      },
      spec: { policyName: 'latchkey-stamps', validationActions: ['Deny'] },
    });
    expect(await plane.kubectl(['apply', '-f', '-'], { input })).toMatchObject({ exitCode: 0 });
    await until('it is reported', async () => checks.at(-1)?.unknown === 1);
    expect(guard.problem()).toBeUndefined();
    const kinds = 'validatingadmissionpolicybindings,validatingadmissionpolicies';
    const leftBehind = `app.kubernetes.io/part-of=latchkey,${labels.policyVersion}!=${policyVersion}`;
    await kubectl(
      'delete',
      `${kinds},mutatingadmissionpolicybindings,mutatingadmissionpolicies`,
      '-l',
      leftBehind,
    );
    await until('it is gone', async () => checks.at(-1)?.unknown === 0);
    expect(guard.problem()).toBeUndefined();
  });

  it('notices a deletion, and trusts what is made after the new creation', async () => {
    const before = guard.trustedSince();
    await kubectl('delete', binding);
    await untilProblem(missing('ValidatingAdmissionPolicyBinding/latchkey-requester-integrity'));
    await restore('apply');
    await untilProblem(undefined);
    expect(guard.trustedSince()).toBe((await lastWrite(binding)) + 5_000);
    expect(guard.trustedSince()).toBeGreaterThan(before);
  });
});
