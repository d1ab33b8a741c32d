import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type ControlPlane, startControlPlane } from './control-plane.ts';
import type { KubectlResult } from './kubectl.ts';
import { freePort } from './ports.ts';
import { sharedControlPlane } from './shared.ts';

const soon = { timeout: 90_000, interval: 100 };

const succeeds = { exitCode: 0, stderr: '' };
const whoAmI = ['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username} {.status.userInfo.groups}'];

describe.concurrent('the shared control plane', () => {
  it('is of the version that Latchkey is made for', async () => {
    const plane = await sharedControlPlane();
    const { stdout } = await plane.kubectl(['get', '--raw', '/version']);
    expect(JSON.parse(stdout)).toMatchObject({ major: '1', minor: '36', gitVersion: 'v1.36.3' });
  });

  it('knows its administrator as platform-admin of system:masters', async () => {
    const plane = await sharedControlPlane();
    expect(await plane.kubectl(whoAmI)).toEqual({
      ...succeeds,
      stdout: 'platform-admin ["system:masters","system:authenticated"]',
    });
  });

  it('knows a user by a client certificate, and gives no rights with it', async () => {
    const plane = await sharedControlPlane();
    const kubeconfig = await plane.kubeconfigFor('ann', ['dev', 'ops']);
    expect((await plane.kubectl(whoAmI, { kubeconfig })).stdout).toBe(
      'ann ["dev","ops","system:authenticated"]',
    );
    const refused = await plane.kubectl(['get', 'secrets'], { kubeconfig });
    expect(refused).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('User "ann" cannot list resource'),
    });
  });

  it('grants by RBAC', async () => {
    const plane = await sharedControlPlane();
    const kubeconfig = await plane.kubeconfigFor('bob-of-rbac');
    const binding = [
      'create',
      'clusterrolebinding',
      'bob-of-rbac',
      '--clusterrole=view',
      '--user=bob-of-rbac',
    ];
    expect(await plane.kubectl(binding)).toMatchObject(succeeds);
    await vi.waitFor(async () => {
      expect(await plane.kubectl(['get', 'pods'], { kubeconfig })).toMatchObject({ exitCode: 0 });
    }, soon);
  });

  it('issues tokens for service accounts, and accepts them', async () => {
    const plane = await sharedControlPlane();
    await plane.kubectl(['create', 'namespace', 'tokens']);
    await plane.kubectl(['create', 'serviceaccount', 'robot', '-n', 'tokens']);
    const token = (await plane.kubectl(['create', 'token', 'robot', '-n', 'tokens'])).stdout.trim();
    const kubeconfig = await plane.kubeconfigWithToken('robot', token);
    expect((await plane.kubectl(whoAmI, { kubeconfig })).stdout).toContain(
      'system:serviceaccount:tokens:robot ',
    );
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    expect(claims.iss).toBe(plane.serviceAccountIssuer);
  });

  it('gives a new namespace its service account, and ends a namespace with all that is in it', async () => {
    const plane = await sharedControlPlane();
    await plane.kubectl(['create', 'namespace', 'short-lived']);
    await vi.waitFor(async () => {
      const account = await plane.kubectl(['get', 'serviceaccount', 'default', '-n', 'short-lived']);
      expect(account).toMatchObject({ exitCode: 0 });
    }, soon);
    const ended = await plane.kubectl(['delete', 'namespace', 'short-lived', '--timeout=120s']);
    expect(ended).toMatchObject({ exitCode: 0 });
  });

  it('collects what an owner leaves behind', async () => {
    const plane = await sharedControlPlane();
    await plane.kubectl(['create', 'configmap', 'owner']);
    const uid = (await plane.kubectl(['get', 'configmap', 'owner', '-o', 'jsonpath={.metadata.uid}'])).stdout;
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid }];
    const child = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'child', ownerReferences } };
    expect(await plane.kubectl(['create', '-f', '-'], { input: JSON.stringify(child) })).toMatchObject(
      succeeds,
    );
    await plane.kubectl(['delete', 'configmap', 'owner']);
    await vi.waitFor(async () => {
      expect((await plane.kubectl(['get', 'secret', 'child'])).stderr).toContain('NotFound');
    }, soon);
  });

  it('signs an approved certificate request for a client', async () => {
    const plane = await sharedControlPlane();
    const request = readFileSync(new URL('fixtures/request.pem', import.meta.url)).toString('base64');
    const signing = {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { name: 'carol' },
      spec: { request, signerName: 'kubernetes.io/kube-apiserver-client', usages: ['client auth'] },
    };
    expect(await plane.kubectl(['create', '-f', '-'], { input: JSON.stringify(signing) })).toMatchObject(
      succeeds,
    );
    await plane.kubectl(['certificate', 'approve', 'carol']);
    await vi.waitFor(async () => {
      const { stdout } = await plane.kubectl(['get', 'csr', 'carol', '-o', 'jsonpath={.status.certificate}']);
      expect(Buffer.from(stdout, 'base64').toString()).toContain('BEGIN CERTIFICATE');
    }, soon);
  });

  it('runs mutating admission policies of v1 without any switch', async () => {
    const plane = await sharedControlPlane();
    const group = 'admissionregistration.k8s.io/v1';
    const policy = {
      apiVersion: group,
      kind: 'MutatingAdmissionPolicy',
      metadata: { name: 'stamp' },
      spec: {
        failurePolicy: 'Fail',
        reinvocationPolicy: 'Never',
        matchConstraints: {
          objectSelector: { matchLabels: { stamp: 'please' } },
          resourceRules: [
            { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] },
          ],
        },
        mutations: [
          {
            patchType: 'ApplyConfiguration',
            applyConfiguration: { expression: 'Object{data: {"user": request.userInfo.username}}' },
          },
        ],
      },
    };
    const binding = {
      apiVersion: group,
      kind: 'MutatingAdmissionPolicyBinding',
      metadata: { name: 'stamp' },
      spec: { policyName: 'stamp' },
    };
    const input = [policy, binding].map((object) => JSON.stringify(object)).join('\n---\n');
    expect(await plane.kubectl(['create', '-f', '-'], { input })).toMatchObject(succeeds);
    const labels = { stamp: 'please' };
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'stamped-', labels } };
    await vi.waitFor(async () => {
      const { stdout } = await plane.kubectl(['create', '-f', '-', '-o', 'json'], {
        input: JSON.stringify(object),
      });
      expect(JSON.parse(stdout)).toMatchObject({ data: { user: 'platform-admin' } });
    }, soon);
  });
});

describe('kubectl', () => {
  it('gets input and environment, and leaves nothing in the home folder', async () => {
    const plane = await sharedControlPlane();
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'from-input' } });
    const env = { HOME: '/nowhere', KUBECTL_COMMAND_HEADERS: 'false' };
    const applied: KubectlResult = await plane.kubectl(['apply', '-f', '-'], { input, env });
    expect(applied).toEqual({ ...succeeds, stdout: 'configmap/from-input created\n' });
    expect(existsSync(`${plane.folder}/kubectl-cache`)).toBe(true);
  });

  it('does not wait for ever', async () => {
    const plane = await sharedControlPlane();
    const watch = plane.kubectl(['get', 'configmaps', '--watch'], { timeoutMs: 300 });
    await expect(watch).rejects.toThrow('kubectl get configmaps --watch: ended by SIGKILL');
  });
});

/** Takes connections and says nothing. */
async function startThief(): Promise<{ port: number; end(): void }> {
  const connections: Socket[] = [];
  const server = createServer((connection) => connections.push(connection)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const end = () => {
    server.close();
    for (const connection of connections) connection.destroy();
  };
  return { port: (server.address() as AddressInfo).port, end };
}

describe('control planes of their own', () => {
  /** With options. */
  let one: ControlPlane;
  /** Its first two ports were taken. */
  let two: ControlPlane;
  let free: number;

  beforeAll(async () => {
    const thief = await startThief();
    free = await freePort();
    const ports = [thief.port, thief.port, free];
    [one, two] = await Promise.all([
      startControlPlane({
        name: 'one',
        users: [{ user: 'dora "the" explorer', groups: ['dev', 'ops'] }],
        extraEtcdArgs: ['--log-level=error'],
        extraApiServerArgs: ['--service-account-issuer=https://other.example'],
        extraControllerManagerArgs: ['--v=2'],
        auditPolicy: {
          apiVersion: 'audit.k8s.io/v1',
          kind: 'Policy',
          rules: [{ level: 'Metadata', resources: [{ resources: ['configmaps'] }] }],
        },
      }),
      startControlPlane({ name: 'two', choosePort: async () => ports.shift() ?? 0 }),
    ]);
    thief.end();
  });
  afterAll(async () => void (await Promise.all([one?.stop(), two?.stop()])));

  it('take users with static tokens, more flags and an audit policy', async () => {
    const token = one.tokenOf('dora "the" explorer');
    const kubeconfig = await one.kubeconfigWithToken('dora', token);
    expect((await one.kubectl(whoAmI, { kubeconfig })).stdout).toBe(
      'dora "the" explorer ["dev","ops","system:authenticated"]',
    );
    expect(() => one.tokenOf('nobody')).toThrow('user "nobody" has no token: name it in the option "users"');
    await one.kubectl(['create', 'configmap', 'audited']);
    await vi.waitFor(() => {
      expect(readFileSync(one.auditLog ?? '', 'utf8')).toContain('"name":"audited"');
    }, soon);
  });

  it('choose another port when somebody takes theirs', () => {
    expect(two.server).toBe(`https://127.0.0.1:${free}`);
  });

  it('keep their objects and address while the API server is away', async () => {
    await two.kubectl(['create', 'configmap', 'survivor']);
    await two.stopApiServer();
    await two.stopApiServer();
    expect((await two.kubectl(['get', 'configmaps'])).stderr).toContain('refused');
    await two.startApiServer();
    expect((await two.kubectl(['get', 'configmap', 'survivor'])).exitCode).toBe(0);
  });

  it('run side by side, trust their own users only, and leave nothing', async () => {
    await one.kubectl(['create', 'namespace', 'only-in-one']);
    expect((await two.kubectl(['get', 'namespaces'])).stdout).not.toContain('only-in-one');
    const stranger = await two.kubectl(['get', 'pods', '--server', one.server]);
    expect(stranger).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('x509') });
    await Promise.all([one.stop(), two.stop()]);
    expect([one.folder, two.folder].filter(existsSync)).toEqual([]);
    await one.stop();
  });

  it('say what a component said when it does not start', async () => {
    const failed = startControlPlane({ name: 'failing', extraApiServerArgs: ['--no-such-flag'] });
    await expect(failed).rejects.toThrow(
      /^kube-apiserver ended with code 1\. The end of its log:\n(.*\n)*.*no-such-flag/,
    );
  });

  it('say which component was not ready in time', async () => {
    await expect(startControlPlane({ readyTimeoutMs: 1 })).rejects.toThrow('was not ready in time');
  });
});
