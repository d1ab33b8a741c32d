import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sharedControlPlane } from '../../../lab/controlplane/shared.ts';
import { applyKustomization, configFolder } from '../../../lab/operator/kustomization.ts';
import {
  labels,
  ownNamespaces,
  serviceAccounts,
  systemNamespace,
  targetsNamespace,
} from '../../../src/api/names.ts';
import {
  policyVersion,
  shippedPolicies,
} from '../../../src/operator/admission/generated/shipped-policies.ts';
import { commonSettingDefinitions } from '../../../src/settings/common.ts';
import { gatewaySettingDefinitions } from '../../../src/settings/gateway.ts';
import { unknownSettings } from '../../../src/settings/read.ts';
import { renderKustomization } from '../../../tools/install/kustomization.ts';
import { type Rendered, render } from './render.ts';

const placeOf = ({ kind, metadata }: Rendered): string => `${kind}/${metadata.namespace}/${metadata.name}`;

describe('config/default', async () => {
  const plane = await sharedControlPlane();
  const objects = await render(plane, 'default');
  const only = (kind: string, name?: string): Rendered => {
    const found = objects.filter(
      (object) => object.kind === kind && (name === undefined || object.metadata.name === name),
    );
    if (found.length !== 1 || found[0] === undefined)
      throw new Error(`${found.length} objects of kind ${kind}`);
    return found[0];
  };
  const deployment = only('Deployment', 'latchkey-operator');
  const template = deployment['spec'].template;
  const container = template.spec.containers[0];
  const settings = only('ConfigMap');

  describe('applied to the API server', () => {
    let output = '';
    beforeAll(async () => {
      output = await applyKustomization(plane, 'default');
    });

    it('is accepted without a warning', () => {
      const warnings = output
        .split('\n')
        .filter((line) => /warning:/i.test(line) && !line.includes('Sorting order'));
      expect(warnings).toEqual([]);
    });

    it('stands there, every object of it', async () => {
      const result = await plane.kubectl(['get', '-k', `${configFolder}/default`, '-o', 'name']);
      expect(result.exitCode).toBe(0);
      expect(result.stdout.trim().split('\n')).toHaveLength(objects.length);
    });

    it('makes no difference when it is applied again', async () => {
      const versions = async (): Promise<string> => {
        const path = '{range .items[*]}{.kind}/{.metadata.name} {.metadata.resourceVersion}{"\\n"}{end}';
        const args = ['get', '-k', `${configFolder}/default`, '-o', `jsonpath=${path}`];
        return (await plane.kubectl(args)).stdout;
      };
      const before = await versions();
      expect(await plane.kubectl(['diff', '-k', `${configFolder}/default`])).toMatchObject({
        exitCode: 0,
        stdout: '',
      });
      await applyKustomization(plane, 'default');
      expect(await versions()).toBe(before);
      expect(before.trim().split('\n')).toHaveLength(objects.length);
    });

    it('lets the pod of the operator in under the restricted profile of pod security', async () => {
      const pod = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { ...template.metadata, name: 'latchkey-operator-test', namespace: systemNamespace },
        spec: template.spec,
      };
      const result = await plane.kubectl(['create', '--dry-run=server', '-f', '-'], {
        input: JSON.stringify(pod),
      });
      expect(result).toMatchObject({ exitCode: 0, stderr: '' });
      const open = { ...template.spec, securityContext: {} };
      const refused = await plane.kubectl(['create', '--dry-run=server', '-f', '-'], {
        input: JSON.stringify({ ...pod, spec: open }),
      });
      expect(refused.stderr).toContain('violates PodSecurity "restricted');
    });
  });

  it('creates the namespace first and the policies before the kinds, so that no object comes in without them', () => {
    const kinds = objects.map(({ kind }) => kind);
    expect(kinds[0]).toBe('Namespace');
    expect(kinds.findLastIndex((kind) => kind.includes('AdmissionPolicy'))).toBeLessThan(
      kinds.indexOf('CustomResourceDefinition'),
    );
  });

  it('has every definition of crds/', async () => {
    const definitions = await render(plane, new URL('../../../crds', import.meta.url).pathname);
    const names = (list: readonly Rendered[]): string[] => list.map(({ metadata }) => metadata.name).sort();
    expect(definitions).toHaveLength(7);
    expect(names(objects.filter(({ kind }) => kind === 'CustomResourceDefinition'))).toEqual(
      names(definitions),
    );
  });

  it('keeps what is namespaced in the namespaces that the policies name, the second for rights alone', () => {
    const namespaces = objects.map(({ metadata }) => metadata.namespace).filter((name) => name !== undefined);
    expect(new Set(namespaces)).toEqual(new Set(ownNamespaces));
    const inTargets = objects.filter(({ metadata }) => metadata.namespace === targetsNamespace);
    expect(new Set(inTargets.map(({ kind }) => kind))).toEqual(new Set(['Role', 'RoleBinding']));
    const made = objects.filter(({ kind }) => kind === 'Namespace').map(({ metadata }) => metadata.name);
    expect(made).toEqual(ownNamespaces);
    expect(template.spec.serviceAccountName).toBe(serviceAccounts.operator);
    const accounts = objects.filter(({ kind }) => kind === 'ServiceAccount');
    expect(accounts.map(({ metadata }) => metadata.name).toSorted()).toEqual(
      Object.values(serviceAccounts).toSorted(),
    );
  });

  describe('the policies', () => {
    const policies = objects.filter(({ kind }) => kind.includes('AdmissionPolicy'));

    it('are those that the operator waits for, and no others', () => {
      const names = policies.map(({ kind, metadata }) => `${kind}/${metadata.name}`);
      expect(names.sort()).toEqual(shippedPolicies.map(({ kind, name }) => `${kind}/${name}`).sort());
    });

    it.each(policies)(
      '$kind $metadata.name carries the version that the operator waits for',
      ({ apiVersion, metadata }) => {
        expect(apiVersion).toBe('admissionregistration.k8s.io/v1');
        expect(metadata.labels).toEqual({
          'app.kubernetes.io/part-of': 'latchkey',
          [labels.policyVersion]: policyVersion.toString(),
          [labels.policyHash]: expect.stringMatching(/^[0-9a-f]{16}$/),
        });
      },
    );

    /** The contract wants a 422 of this one. */
    const reasonOf = (name: string): string =>
      name === 'latchkey-owner-references' ? 'Invalid' : 'Forbidden';

    it.each(policies.filter(({ kind }) => kind.endsWith('Policy')))(
      '$kind $metadata.name fails closed, unless it judges a delete',
      ({ metadata, spec }) => {
        const reason = reasonOf(metadata.name);
        // A delete is a revocation: nothing that fails may stand in its way.
        expect(spec.failurePolicy).toBe(metadata.name === 'latchkey-delete' ? 'Ignore' : 'Fail');
        // A parameter could be deleted, or go stale.
        expect(spec).not.toHaveProperty('paramKind');
        expect(
          spec.matchConstraints.resourceRules.map((rule: { apiGroups: string[] }) => rule.apiGroups),
        ).toEqual([[metadata.name === 'latchkey-system-objects' ? '' : 'management.platform.sh']]);
        for (const validation of spec.validations ?? []) {
          expect(validation).toMatchObject({ reason, message: expect.stringMatching(/.{20}/) });
        }
      },
    );

    it.each(policies.filter(({ kind }) => kind.endsWith('Binding')))(
      '$kind $metadata.name denies everywhere',
      ({ kind, metadata, spec }) => {
        const actions = kind.startsWith('Validating') ? { validationActions: ['Deny'] } : {};
        expect(spec).toEqual({ policyName: metadata.name, ...actions });
      },
    );

    it('judge ConfigMaps of the system namespace alone, beside our own kinds', () => {
      const { resourceRules, namespaceSelector } = only(
        'ValidatingAdmissionPolicy',
        'latchkey-system-objects',
      )['spec'].matchConstraints;
      expect(resourceRules).toEqual([expect.objectContaining({ resources: ['configmaps'] })]);
      expect(namespaceSelector).toEqual({ matchLabels: { 'kubernetes.io/metadata.name': systemNamespace } });
    });
  });

  describe('the Deployment', () => {
    it('runs the operator under a fixed command', () => {
      expect(container).toMatchObject({ args: ['operator'], image: expect.stringMatching(/^latchkey:\d/) });
      expect(container).not.toHaveProperty('command');
    });

    it('asks the ports on which the operator answers', () => {
      const port = (name: string): string =>
        `:${container.ports.find((one: { name: string }) => one.name === name).containerPort}`;
      expect(port('health')).toBe(commonSettingDefinitions.healthAddress.default);
      expect(port('metrics')).toBe(commonSettingDefinitions.metricsAddress.default);
      expect(container.livenessProbe.httpGet).toEqual({ path: '/livez', port: 'health' });
      expect(container.startupProbe.httpGet).toEqual({ path: '/livez', port: 'health' });
      expect(container.readinessProbe.httpGet).toEqual({ path: '/readyz', port: 'health' });
    });

    it('gives the operator no more than it needs on the node', () => {
      expect(template.spec.securityContext).toMatchObject({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      expect(container.securityContext).toMatchObject({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(container.resources.requests).toMatchObject({
        cpu: expect.any(String),
        memory: expect.any(String),
      });
      expect(container.resources.limits).toMatchObject({ memory: expect.any(String) });
      expect(template.spec).not.toHaveProperty('volumes');
      expect(template.spec).not.toHaveProperty('hostNetwork');
    });

    it('lets the gateway hold all connections beside 100,000 keys and the bodies of its users', () => {
      const { containers } = only('Deployment', 'latchkey-gateway')['spec'].template.spec;
      const limit = Number(/^(\d+)Mi$/.exec(containers[0].resources.limits.memory)?.[1]);
      const connections = Number(gatewaySettingDefinitions.maxConnections.default);
      const measured = { keysMiB: 236, bodiesMiB: 144, connectionMiB: 0.06 };
      const { keysMiB, bodiesMiB, connectionMiB } = measured;
      expect(keysMiB + bodiesMiB + connections * connectionMiB).toBeLessThan(limit);
    });

    it('finds Services by the search domains of the cluster, as the gateway does', () => {
      for (const { spec } of [template, only('Deployment', 'latchkey-gateway')['spec'].template]) {
        const { dnsPolicy = 'ClusterFirst', dnsConfig } = spec;
        const options = dnsConfig.options.map(({ name }: { name: string }) => name);
        expect([dnsPolicy, Object.keys(dnsConfig), options]).toEqual([
          'ClusterFirst',
          ['options'],
          ['timeout', 'attempts'],
        ]);
      }
    });

    it('keeps one of two replicas through drains and spreads them', () => {
      expect(deployment['spec'].replicas).toBe(2);
      const budget = only('PodDisruptionBudget', 'latchkey-operator')['spec'];
      expect(budget.maxUnavailable).toBe(1);
      for (const selector of [
        budget.selector,
        deployment['spec'].selector,
        ...template.spec.topologySpreadConstraints.map((one: { labelSelector: object }) => one.labelSelector),
      ]) {
        expect(template.metadata.labels).toMatchObject(selector.matchLabels);
      }
      expect(template.spec.topologySpreadConstraints).toHaveLength(2);
    });

    it('has a class of priority that is there', () => {
      expect(template.spec.priorityClassName).toBe(only('PriorityClass').metadata.name);
    });
  });

  describe('the Deployment of the gateway', () => {
    const gateway = only('Deployment', 'latchkey-gateway')['spec'];
    const { spec: pod, metadata } = gateway.template;
    const [program] = pod.containers;

    it('runs as its own account, which may impersonate and nothing else', () => {
      expect(program).toMatchObject({ args: ['gateway'], image: container.image });
      expect(pod.serviceAccountName).toBe(serviceAccounts.gateway);
      expect(program.envFrom).toEqual(container.envFrom);
      expect([pod.securityContext, program.securityContext]).toEqual([
        template.spec.securityContext,
        container.securityContext,
      ]);
    });

    it('finds its certificate where it looks for it, and outlives its own end', () => {
      const { tlsFolder, shutdownDelayMs, shutdownGraceMs } = gatewaySettingDefinitions;
      const [{ mountPath }] = program.volumeMounts;
      const files = pod.volumes[0].secret.items.map((item: { path: string }) => join(mountPath, item.path));
      expect(files).toEqual(['tls.crt', 'tls.key'].map((file) => join(tlsFolder.default ?? '', file)));
      const defaults = [shutdownDelayMs, shutdownGraceMs].map((one) =>
        Number.parseInt(one.default ?? '', 10),
      );
      expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(
        defaults.reduce((sum, seconds) => sum + seconds, 10),
      );
    });

    it('is scaled by its load, spread, and drained one after the other', () => {
      const { scaleTargetRef, minReplicas, maxReplicas, metrics } = only('HorizontalPodAutoscaler')['spec'];
      const { apiVersion, kind, metadata: named } = only('Deployment', 'latchkey-gateway');
      expect(scaleTargetRef).toEqual({ apiVersion, kind, name: named.name });
      expect([minReplicas, maxReplicas > minReplicas]).toEqual([2, true]);
      expect(metrics).toEqual([
        expect.objectContaining({ resource: expect.objectContaining({ name: 'cpu' }) }),
      ]);
      // A number here would undo what the autoscaler did at each apply.
      expect(gateway).not.toHaveProperty('replicas');
      const budget = only('PodDisruptionBudget', 'latchkey-gateway')['spec'];
      expect(budget.maxUnavailable).toBe(1);
      const spread = pod.topologySpreadConstraints.map((one: { labelSelector: object }) => one.labelSelector);
      for (const { matchLabels } of [budget.selector, ...spread])
        expect(metadata.labels).toMatchObject(matchLabels);
      expect(spread).not.toEqual([]);
    });

    it('is reached by its Service, and by no other port than those it serves', () => {
      const service = only('Service')['spec'];
      expect(metadata.labels).toMatchObject(service.selector);
      expect(service.ports).toEqual([{ name: 'https', port: 443, targetPort: 'https' }]);
      const ports = program.ports.map(({ name }: { name: string }) => ({ port: name }));
      expect(only('NetworkPolicy')['spec'].ingress).toEqual([{ ports }]);
      const listening = program.ports.find(({ name }: { name: string }) => name === 'https');
      expect(`:${listening.containerPort}`).toBe(gatewaySettingDefinitions.listenAddress.default);
    });
  });

  describe('the settings', () => {
    let overlay: string;
    beforeAll(async () => {
      overlay = await mkdtemp(join(await realpath(tmpdir()), 'latchkey-overlay-'));
    });
    afterAll(async () => await rm(overlay, { recursive: true, force: true }));

    it('reach the operator as environment variables, and are all known to it', () => {
      expect(container.envFrom).toEqual([{ configMapRef: { name: settings.metadata.name } }]);
      expect(settings['data']).toHaveProperty(commonSettingDefinitions.baseURL.name);
      expect(unknownSettings(settings['data'])).toEqual([]);
    });

    it('are the only variables of their name: no Service adds any to a Pod', () => {
      const pods = objects
        .filter(({ kind }) => kind === 'Deployment')
        .map((one) => one['spec'].template.spec);
      expect(pods.map(({ enableServiceLinks }) => enableServiceLinks)).toEqual([false, false]);
    });

    it('are changed by an overlay, which rolls the Deployment and can name another image', async () => {
      const kustomization = {
        apiVersion: 'kustomize.config.k8s.io/v1beta1',
        kind: 'Kustomization',
        resources: [relative(overlay, `${configFolder}/default`)],
        configMapGenerator: [
          {
            name: 'latchkey-settings',
            namespace: systemNamespace,
            behavior: 'merge',
            literals: ['LATCHKEY_BASE_URL=https://keys.corp.example'],
          },
        ],
        images: [{ name: 'latchkey', newName: 'registry.corp.example/latchkey', newTag: '1.2.3' }],
      };
      await writeFile(`${overlay}/kustomization.yaml`, JSON.stringify(kustomization));
      const changed = await render(plane, overlay);
      const found = changed.find(
        ({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'latchkey-operator',
      );
      const [operator] = found?.['spec'].template.spec.containers ?? [];
      const map = changed.find(({ kind }) => kind === 'ConfigMap');
      expect(map?.['data']).toEqual({ LATCHKEY_BASE_URL: 'https://keys.corp.example' });
      expect(operator.envFrom[0].configMapRef.name).toBe(map?.metadata.name);
      expect(map?.metadata.name).not.toBe(settings.metadata.name);
      expect(operator.image).toBe('registry.corp.example/latchkey:1.2.3');
    });
  });

  it('is what dist/install.yaml and the chart are made from, with monitoring and the site policy', async () => {
    const overlay = await mkdtemp(join(await realpath(tmpdir()), 'latchkey-overlay-'));
    const kustomization = {
      apiVersion: 'kustomize.config.k8s.io/v1beta1',
      kind: 'Kustomization',
      resources: [relative(overlay, `${configFolder}/default`)],
      components: ['monitoring', 'site-policy'].map((name) => relative(overlay, `${configFolder}/${name}`)),
    };
    await writeFile(`${overlay}/kustomization.yaml`, JSON.stringify(kustomization));
    const inOrder = (list: readonly Rendered[]) =>
      list.toSorted((one, other) => (placeOf(one) < placeOf(other) ? -1 : 1));
    const folders = ['default', 'monitoring', 'site-policy'];
    const made = folders.flatMap((name) => renderKustomization(`${configFolder}/${name}`));
    expect(inOrder(made)).toEqual(inOrder(await render(plane, overlay)));
    await rm(overlay, { recursive: true });
    expect(renderKustomization(`${configFolder}/default`).map(placeOf)).toEqual(objects.map(placeOf));
  });

  it('ships the version of package.json', async () => {
    const { version } = JSON.parse(await readFile(new URL('../../../package.json', import.meta.url), 'utf8'));
    expect(container.image).toBe(`latchkey:${version}`);
  });
});
