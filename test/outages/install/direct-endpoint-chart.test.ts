import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { startControlPlane } from '../../../lab/controlplane/control-plane.ts';
import { configFolder } from '../../../lab/operator/kustomization.ts';
import { directEndpoint } from '../../../src/api/names.ts';
import { renderKustomization } from '../../../tools/install/kustomization.ts';
import { buildTimeoutMs, Helm } from '../../clients/helm.ts';
import { type Rendered, render } from '../../integration/config/render.ts';
import { endpointChartFolder, inOrder, templateOf, withoutForm } from './chart.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'latchkey-endpoint-chart-'));
afterAll(() => rmSync(folder, { recursive: true }));
const required = ['--set=baseURL=https://latchkey.example.com,cluster=edge'];
const { namespace } = directEndpoint;
const settings = 'latchkey-direct-endpoint-settings';
const plane = await startControlPlane({ name: 'endpoint-chart' });
afterAll(async () => await plane.stop());

const find = (objects: readonly Rendered[], kind: string): Rendered =>
  objects.find((object) => object.kind === kind)!;
const template = async (helm: Helm, ...args: readonly string[]) =>
  await templateOf(helm, endpointChartFolder, [...required, ...args]);

const run = async (helm: Helm, from: string, command: string, ...args: readonly string[]) =>
  await helm.okWithoutWarning(plane.adminKubeconfig, [
    ...[command, 'endpoint', `--namespace=${from}`],
    ...args,
  ]);
const kubectl = async (...args: string[]) => {
  const { exitCode, stdout, stderr } = await plane.kubectl([...args, '-n', namespace]);
  expect([exitCode, stderr]).toEqual([0, '']);
  return stdout;
};

describe.each(['v3', 'v4'] as const)('Helm %s', (major) => {
  let helm: Helm;
  beforeAll(async () => {
    helm = await Helm.build(major, folder);
  }, buildTimeoutMs);

  it('finds nothing wrong with the chart', async () => {
    const linted = await helm.ok('/dev/null', ['lint', '--strict', endpointChartFolder, ...required]);
    expect(linted).toContain('0 chart(s) failed');
  });

  it.each([
    ['1.36.3', 'direct-endpoint'],
    ['1.35.9', 'direct-endpoint-older'],
  ])('makes for Kubernetes %s the objects of config/%s, and its settings', async (version, shipped) => {
    const made = await template(helm, `--kube-version=${version}`);
    const isSettings = ({ metadata }: Rendered) => metadata.name === settings;
    expect(made.find(isSettings)?.['data']).toEqual({
      LATCHKEY_BASE_URL: 'https://latchkey.example.com',
      LATCHKEY_ENDPOINT_CLUSTER: 'edge',
    });
    const others = made.filter((object) => !isSettings(object));
    const expected = await render(plane, shipped);
    expect(inOrder(others).map(withoutForm)).toEqual(inOrder(expected).map(withoutForm));
  });

  // Comes first: a release does not take over the namespace that the next test makes. One of the other Helm with the same name does.
  it('leaves the Secrets that you made, when it was installed from another namespace and is taken away', async () => {
    await run(helm, 'default', 'install', endpointChartFolder, ...required);
    await kubectl('create', 'secret', 'generic', 'agent', '--from-literal=key=mine');
    onTestFinished(async () => void (await kubectl('delete', 'secret', 'agent')));
    await run(helm, 'default', 'uninstall');
    expect(await kubectl('get', 'namespace', namespace, '-o', 'jsonpath={.status.phase}')).toBe('Active');
    expect(await kubectl('get', 'secrets,deployments,services', '-o', 'name')).toBe('secret/agent\n');
  });

  it('is installed, upgraded without the loss of what the endpoint keeps, and taken away', async () => {
    await run(helm, namespace, 'install', endpointChartFolder, '--create-namespace', ...required);
    const kept = ['secret', directEndpoint.keptSet];
    await kubectl('patch', ...kept, '--type=merge', '-p', '{"data":{"set":"bGl2ZQ=="}}');
    await run(helm, namespace, 'upgrade', endpointChartFolder, ...required, '--set=replicas=3');
    expect(await kubectl('get', ...kept, '-o', 'jsonpath={.data.set}')).toBe('bGl2ZQ==');
    expect(await kubectl('get', 'deployment', '-o', 'jsonpath={.items[*].spec.replicas}')).toBe('3');
    await run(helm, namespace, 'uninstall');
    expect(await kubectl('get', 'secrets,deployments,services', '-o', 'name')).toBe('');
  });
});

describe('helm upgrade --reuse-values', () => {
  it(
    'takes over from a chart that had hardly any value',
    async () => {
      const helm = await Helm.build('v3', folder);
      const earlier = path.join(folder, 'earlier');
      mkdirSync(path.join(earlier, 'templates'), { recursive: true });
      const write = (file: string, object: object) =>
        writeFileSync(path.join(earlier, file), stringify(object));
      write('Chart.yaml', { apiVersion: 'v2', name: 'latchkey-direct-endpoint', version: '0.0.1' });
      write('values.yaml', { cluster: '', replicas: 1 });
      write('templates/settings.yaml', {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'earlier' },
      });
      await run(helm, namespace, 'install', earlier, '--create-namespace', ...required);
      await run(
        helm,
        namespace,
        'upgrade',
        endpointChartFolder,
        '--reuse-values',
        '--set=service.type=NodePort',
      );
      const output = ['-o', 'jsonpath={.items[*].spec.replicas} {.items[*].spec.type}'];
      expect(await kubectl('get', 'deployment,service', ...output)).toBe('1 NodePort');
    },
    buildTimeoutMs,
  );
});

describe('the values of the chart', () => {
  let helm: Helm;
  beforeAll(async () => {
    helm = await Helm.build('v3', folder);
  }, buildTimeoutMs);

  const refusal = async (...args: string[]): Promise<string> => {
    const all = ['template', 'latchkey', endpointChartFolder, ...args];
    const { exitCode, stderr } = await helm.run('/dev/null', all);
    expect(exitCode).not.toBe(0);
    return stderr;
  };

  it.each([
    ['no base URL', ['--set=cluster=edge'], /baseURL: set the address/],
    ['no cluster', ['--set=baseURL=https://a.example'], /cluster: set the name/],
    ['a base URL without TLS', ['--set=baseURL=http://a.example,cluster=edge'], /baseURL/],
    ['a value that there is not', [...required, '--set=replica=3'], /replica/],
    ['a setting that there is not', [...required, '--set=settings.LATCHKEY_NONE=a'], /LATCHKEY_NONE/],
    ['more replicas than streams', [...required, '--set=replicas=4'], /replicas/],
    [
      'the platform itself',
      [...required, '--api-versions=management.platform.sh/v1'],
      /runs the platform itself/,
    ],
    [
      'a webhook that everyone reaches',
      [...required, '--set=webhook.clusterIP=10.96.0.77'],
      /webhook\.allowedCIDRs: set/,
    ],
    [
      'an issuer without a host',
      [...required, '--set=certificate.issuerRef.name=a'],
      /certificate\.host: set/,
    ],
  ])('refuse %s', async (_, args, message) => {
    expect(await refusal(...args)).toMatch(message);
  });

  it('make a way to the webhook for the API servers alone, and none otherwise', async () => {
    const webhook = '--set=webhook.clusterIP=10.96.0.77,webhook.allowedCIDRs={192.0.2.10/32}';
    const named = ({ metadata }: Rendered) => metadata.name === 'latchkey-webhook';
    const made = await template(
      helm,
      webhook,
      '--set=certificate.issuerRef.name=a,certificate.host=edge.example.com',
    );
    const shipped = renderKustomization(`${configFolder}/direct-endpoint-webhook`);
    expect(inOrder(made.filter(named)).map(withoutForm)).toEqual(inOrder(shipped).map(withoutForm));
    expect(made.find(({ metadata }) => metadata.name === settings)?.['data']).toMatchObject({
      LATCHKEY_ENDPOINT_WEBHOOK_CLIENT_CA_FILE: '/etc/latchkey/agent/client.crt',
    });
    expect(find(made, 'Certificate')['spec']).toMatchObject({ ipAddresses: ['10.96.0.77'] });
    expect((await template(helm)).filter(named)).toEqual([]);
  });

  it('stand in their places', async () => {
    const made = await template(
      helm,
      `--set=image.repository=registry.example.com/latchkey,image.digest=sha256:${'0'.repeat(64)}`,
      '--set=replicas=3,nodeOptions=--a,service.type=LoadBalancer,nodeSelector.pool=edge',
      '--set=agent.secretName=ours,certificate.secretName=tls',
      '--set=certificate.issuerRef.name=letsencrypt,certificate.host=edge.example.com',
      '--set=settings.LATCHKEY_ENDPOINT_OUTAGE=4h,monitoring.enabled=true,monitoring.labels.release=prom',
      '--set=monitoring.runbookURL=https://docs.example.com/alerts',
    );
    expect(find(made, 'Deployment')['spec']).toMatchObject({
      replicas: 3,
      template: {
        metadata: { annotations: { 'checksum/settings': expect.stringMatching(/^[\da-f]{64}$/) } },
        spec: {
          nodeSelector: { pool: 'edge' },
          containers: [
            {
              image: `registry.example.com/latchkey@sha256:${'0'.repeat(64)}`,
              env: [{ name: 'NODE_OPTIONS', value: '--a' }],
              envFrom: [{ configMapRef: { name: settings } }],
            },
          ],
          volumes: [{ secret: { secretName: 'tls' } }, { secret: { secretName: 'ours' } }],
        },
      },
    });
    expect(made.find(({ metadata }) => metadata.name === settings)?.['data']).toMatchObject({
      LATCHKEY_ENDPOINT_OUTAGE: '4h',
    });
    expect(find(made, 'Service')['spec']).toMatchObject({ type: 'LoadBalancer' });
    expect(find(made, 'Certificate')['spec']).toMatchObject({
      ...{ secretName: 'tls', dnsNames: ['edge.example.com'], issuerRef: { name: 'letsencrypt' } },
    });
    for (const kind of ['PodMonitor', 'PrometheusRule'])
      expect(find(made, kind).metadata.labels).toMatchObject({ release: 'prom' });
    const { groups } = find(made, 'PrometheusRule')['spec'];
    for (const { annotations } of groups[0].rules)
      expect(annotations.runbook_url).toMatch(/^https:\/\/docs\.example\.com\/alerts#latchkeydirectendpoint/);
  });
});
