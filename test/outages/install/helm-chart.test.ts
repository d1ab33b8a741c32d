import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { Guard } from '../../../lab/controlplane/guard.ts';
import { configFolder } from '../../../lab/operator/kustomization.ts';
import { version } from '../../../src/version.ts';
import { renderKustomization } from '../../../tools/install/kustomization.ts';
import { readDocument, sectionOf } from '../../../tools/reference/document.ts';
import { packedChart } from '../../../tools/release/artifacts.ts';
import { buildTimeoutMs, Helm } from '../../clients/helm.ts';
import { startRegistry } from '../../clients/registry.ts';
import type { Rendered } from '../../integration/config/render.ts';
import { chartFolder, inOrder, required, template, withoutForm } from './chart.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'latchkey-chart-'));
const guard = await Guard.start('registry');
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await guard.stop();
});

const kindsOf = (objects: readonly Rendered[]) => new Set(objects.map(({ kind }) => kind));

/** The release as people get it. */
const published = path.join(folder, `latchkey-${version}.tgz`);
let charts: string;
beforeAll(async () => {
  writeFileSync(published, packedChart());
  charts = `oci://${await startRegistry(guard)}/charts`;
}, buildTimeoutMs);

describe.each(['v3', 'v4'] as const)('Helm %s', (major) => {
  let helm: Helm;
  beforeAll(async () => {
    helm = await Helm.build(major, folder);
  }, buildTimeoutMs);

  it('finds nothing wrong with the chart', async () => {
    expect(await helm.ok('/dev/null', ['lint', '--strict', chartFolder, ...required])).toContain(
      '0 chart(s) failed',
    );
  });

  it('makes the objects of config/default and the recommended site policy, and no other', async () => {
    const folders = ['default', 'site-policy'];
    const shipped = folders.flatMap((name) => renderKustomization(`${configFolder}/${name}`));
    const made = await template(helm);
    expect(made.length).toBeGreaterThan(80);
    expect(inOrder(made).map(withoutForm)).toEqual(inOrder(shipped).map(withoutForm));
  });

  it('pushes the chart of a release to a registry, pulls the same bytes, and renders it from there', async () => {
    const noTLS = '--plain-http';
    const destination = path.join(folder, major);
    mkdirSync(destination);
    const one = [`${charts}/latchkey`, `--version=${version}`, noTLS];
    await helm.ok('/dev/null', ['push', published, charts, noTLS]);
    await helm.ok('/dev/null', ['pull', ...one, `--destination=${destination}`]);
    const pulled = readFileSync(path.join(destination, path.basename(published)));
    expect(pulled.equals(readFileSync(published))).toBe(true);
    const values = [...required, '--kube-version=1.36.3'];
    const rendered = await helm.ok('/dev/null', ['template', 'latchkey', ...one, ...values]);
    // Helm 4 says in front of it what it has pulled.
    expect(rendered.slice(rendered.indexOf('---\n'))).toBe(
      await helm.ok('/dev/null', ['template', 'latchkey', chartFolder, ...values]),
    );
    const unknown = await helm.run('/dev/null', ['pull', `${charts}/latchkey`, '--version=9.9.9', noTLS]);
    expect(unknown.exitCode).not.toBe(0);
  });
});

describe('the values of the chart', () => {
  let helm: Helm;
  beforeAll(async () => {
    helm = await Helm.build('v3', folder);
  }, buildTimeoutMs);

  const refusal = async (...args: string[]): Promise<string> => {
    const { exitCode, stderr } = await helm.run('/dev/null', ['template', 'latchkey', chartFolder, ...args]);
    expect(exitCode).not.toBe(0);
    return stderr;
  };

  it('makes the objects of config/monitoring where that is wanted, braces of its alerts and all', async () => {
    const made = await template(helm, '--set=monitoring.enabled=true,sitePolicy.enabled=false');
    const shipped = ['default', 'monitoring'].flatMap((name) =>
      renderKustomization(`${configFolder}/${name}`),
    );
    expect(inOrder(made).map(withoutForm)).toEqual(inOrder(shipped).map(withoutForm));
  });

  it('leads each alert to its section, where you say at which address the page is', async () => {
    const url = 'https://docs.example.com/alerts';
    const made = await template(helm, `--set=monitoring.enabled=true,monitoring.runbookURL=${url}`);
    const { groups } = made.find(({ kind }) => kind === 'PrometheusRule')!['spec'];
    const rules: readonly { alert: string; annotations: Record<string, string> }[] = groups.flatMap(
      ({ rules: some }: { rules: object[] }) => some,
    );
    expect(rules.length).toBeGreaterThan(10);
    for (const { alert, annotations } of rules)
      expect(annotations['runbook_url']).toBe(`${url}#${alert.toLowerCase()}`);
  });

  it('leaves out the namespace that the release is in, for Helm makes it', async () => {
    const names = async (...args: string[]) =>
      (await template(helm, ...args))
        .filter(({ kind }) => kind === 'Namespace')
        .map(({ metadata }) => metadata.name);
    expect(await names('--namespace=latchkey-system')).toEqual(['latchkey-targets']);
    expect(await names('--namespace=default')).toEqual(['latchkey-system', 'latchkey-targets']);
  });

  it('refuses to render without a base URL, for Kubernetes 1.35, or with a value that there is not', async () => {
    expect(await refusal('--kube-version=1.36.3')).toMatch(/baseURL: set the https address/);
    expect(await refusal(...required, '--kube-version=1.35.9')).toMatch(
      /needs Kubernetes 1\.36 or newer .* this one is v1\.35\.9: upgrade its control plane, or install/,
    );
    await template(helm, '--kube-version=v1.36.4-gke.1391000');
    const current = [...required, '--kube-version=1.36.3'];
    expect(await refusal(...current, '--set=gateway.replica=3')).toMatch(/gateway.*replica/s);
    expect(await refusal(...current, '--set=settings.LATCHKEY_NONE=a')).toMatch(/settings.*LATCHKEY_NONE/s);
    expect(await refusal('--kube-version=1.36.3', '--set=baseURL=http://a.example')).toMatch(/baseURL/);
  });

  it('puts every value in its place', async () => {
    const values = [
      ...['image.repository=registry.example.com/latchkey', 'image.tag=1.2.3', 'image.pullPolicy=Always'],
      ...['image.pullSecrets[0].name=registry', 'operator.replicas=3', 'operator.nodeOptions=--a'],
      ...['gateway.nodeOptions=--b', 'gateway.resources.limits.memory=1Gi', 'extraEnv[0].name=HTTPS_PROXY'],
      ...['extraEnv[0].value=http://proxy', 'settings.LATCHKEY_LOG_LEVEL=debug', 'nodeSelector.pool=system'],
      ...['tolerations[0].operator=Exists', 'gateway.autoscaling.enabled=false', 'gateway.replicas=4'],
      ...['gateway.service.type=LoadBalancer', 'gateway.service.annotations.a=b'],
      'gateway.service.externalTrafficPolicy=Local',
      ...['certificate.authorityConfigMap=ours', 'sitePolicy.data.requireScope=all'],
    ];
    const made = await template(helm, ...values.map((value) => `--set-string=${value}`).map(asNumber));
    const only = (kind: string, name: string): Rendered =>
      made.find((object) => object.kind === kind && object.metadata.name === name)!;
    expect(only('Deployment', 'latchkey-operator')['spec']).toMatchObject({
      replicas: 3,
      template: {
        metadata: { annotations: { 'checksum/settings': expect.stringMatching(/^[\da-f]{64}$/) } },
        spec: {
          imagePullSecrets: [{ name: 'registry' }],
          nodeSelector: { pool: 'system' },
          tolerations: [{ operator: 'Exists' }],
          volumes: [{ name: 'base-url-ca', configMap: { name: 'ours' } }],
          containers: [
            {
              image: 'registry.example.com/latchkey:1.2.3',
              imagePullPolicy: 'Always',
              env: [
                { name: 'NODE_OPTIONS', value: '--a' },
                { name: 'HTTPS_PROXY', value: 'http://proxy' },
              ],
              envFrom: [{ configMapRef: { name: 'latchkey-settings' } }],
              volumeMounts: [{ name: 'base-url-ca', mountPath: '/etc/latchkey/base-url', readOnly: true }],
            },
          ],
        },
      },
    });
    expect(only('Deployment', 'latchkey-gateway')['spec']).toMatchObject({
      replicas: 4,
      template: {
        spec: {
          nodeSelector: { pool: 'system' },
          containers: [
            { resources: { limits: { memory: '1Gi' } }, env: [{ value: '--b' }, { name: 'HTTPS_PROXY' }] },
          ],
        },
      },
    });
    expect(kindsOf(made)).not.toContain('HorizontalPodAutoscaler');
    expect(only('Service', 'latchkey-gateway')).toMatchObject({
      metadata: { annotations: { a: 'b' } },
      spec: { type: 'LoadBalancer', externalTrafficPolicy: 'Local' },
    });
    expect(only('ConfigMap', 'latchkey-settings')['data']).toEqual({
      LATCHKEY_BASE_URL: 'https://latchkey.example.com',
      LATCHKEY_BASE_URL_CA_FILE: '/etc/latchkey/base-url/ca.crt',
      LATCHKEY_LOG_LEVEL: 'debug',
    });
    expect(only('ConfigMap', 'latchkey-site-policy')['data']).toMatchObject({ requireScope: 'all' });
  });

  it.each(['EKS', 'GKE', 'AKS'])(
    'gives the Service what docs/reference/platforms.md says for %s',
    async (platform) => {
      const section = sectionOf(readDocument('docs/reference/platforms.md'), platform);
      const [, values = ''] = /^```yaml\n(.*?)^```/ms.exec(section) ?? [];
      const file = path.join(folder, 'values.yaml');
      writeFileSync(file, values);
      const made = await template(helm, `--values=${file}`);
      const { metadata, spec } = made.find(({ kind }) => kind === 'Service')!;
      const { annotations = {}, ...wanted } = parse(values).gateway.service;
      expect(metadata.annotations ?? {}).toMatchObject(annotations);
      expect(spec).toMatchObject(wanted);
    },
  );

  it('opens a port for the page where that is wanted, and none otherwise', async () => {
    const url = 'https://keys.example.com:8444';
    const portsOf = async (...args: string[]) => {
      const made = (await template(helm, ...args)).filter(
        ({ metadata }) => metadata.name === 'latchkey-gateway',
      );
      const specOf = (kind: string) => made.find((object) => object.kind === kind)!['spec'];
      return [
        specOf('Deployment').template.spec.containers[0].ports,
        specOf('Service').ports,
        specOf('NetworkPolicy').ingress.flatMap(({ ports }: { ports: object[] }) => ports),
      ] as { name?: string; port?: unknown; targetPort?: unknown }[][];
    };
    const isPage = ({ name, port, targetPort }: { name?: string; port?: unknown; targetPort?: unknown }) =>
      [name, port, targetPort].includes('page');
    const withPage = await portsOf(`--set=gateway.page.url=${url}`);
    expect(withPage.map((ports) => ports.filter(isPage).length)).toEqual([1, 1, 1]);
    expect((await portsOf()).flat().filter(isPage)).toEqual([]);
    const text = JSON.stringify(await template(helm, `--set=gateway.page.url=${url}`));
    expect(text).toContain(`"LATCHKEY_PAGE_URL":"${url}"`);
  });

  it('gives the right to write ClusterProfiles in the namespace that a value names, and in none otherwise', async () => {
    const named = ({ metadata }: Rendered) => metadata.name === 'latchkey-cluster-profiles';
    const made = await template(helm, '--set=clusterProfiles.namespace=cluster-inventory');
    const shipped = renderKustomization(`${configFolder}/cluster-profiles`);
    expect(inOrder(made.filter(named)).map(withoutForm)).toEqual(inOrder(shipped).map(withoutForm));
    const other = await template(helm, '--set=clusterProfiles.namespace=fleet');
    expect(other.filter(named).map(({ metadata }) => metadata.namespace)).toEqual(['fleet', 'fleet']);
    expect(JSON.stringify(other)).toContain('"LATCHKEY_CLUSTER_PROFILES_NAMESPACE":"fleet"');
    expect((await template(helm)).filter(named)).toEqual([]);
  });

  it('rolls the pods when a setting changes, and not otherwise', async () => {
    const sums = async (...args: string[]) =>
      (await template(helm, ...args))
        .filter(({ kind }) => kind === 'Deployment')
        .map((object) => object['spec'].template.metadata.annotations['checksum/settings']);
    const before = await sums();
    expect(new Set(before).size).toBe(1);
    expect(await sums('--set=operator.replicas=3')).toEqual(before);
    const [changed] = await sums('--set=settings.LATCHKEY_LOG_LEVEL=debug');
    expect(changed).not.toBe(before[0]);
  });

  it('leads the host of the base URL to the gateway by a route, an Ingress and a certificate of cert-manager', async () => {
    const made = await template(
      helm,
      '--set=gateway.route.enabled=true,gateway.route.parentRefs[0].name=shared',
      '--set=gateway.ingress.enabled=true,gateway.ingress.className=nginx,gateway.ingress.tlsSecret=edge',
      '--set=certificate.issuerRef.name=letsencrypt,certificate.issuerRef.kind=ClusterIssuer',
      '--set=baseURL=https://keys.example.com:8443/path',
    );
    const specOf = (kind: string): unknown => made.find((object) => object.kind === kind)?.['spec'];
    expect(specOf('TLSRoute')).toEqual({
      parentRefs: [{ name: 'shared' }],
      hostnames: ['keys.example.com'],
      rules: [{ backendRefs: [{ name: 'latchkey-gateway', port: 443 }] }],
    });
    expect(specOf('Ingress')).toMatchObject({
      ingressClassName: 'nginx',
      tls: [{ hosts: ['keys.example.com'], secretName: 'edge' }],
      rules: [{ host: 'keys.example.com' }],
    });
    expect(specOf('Certificate')).toMatchObject({
      secretName: 'latchkey-gateway-tls',
      dnsNames: ['keys.example.com'],
      issuerRef: { name: 'letsencrypt', kind: 'ClusterIssuer' },
    });
  });
});

/** The schema wants numbers and flags where they are such, and text elsewhere. */
function asNumber(argument: string): string {
  const isText = !/=(?:operator\.replicas|gateway\.replicas|gateway\.autoscaling\.enabled)=/.test(argument);
  return isText ? argument : argument.replace('--set-string', '--set');
}
