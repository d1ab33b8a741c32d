import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { conditionOf, entryOf, type Stored, secondsAfter, secretAt } from '../../../lab/operator/api.ts';
import { firstRowOf } from '../../../lab/operator/kubectl.ts';
import { baseURL } from '../../../lab/operator/running-operator.ts';
import { until } from '../../../lab/operator/until.ts';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { annotations, group, systemNamespace, systemObjects } from '../../../src/api/names.ts';
import { certificateSigningRequests, virtualClusterInstanceKubeConfigs } from '../../../src/api/resources.ts';
import { certificateSubject } from '../../../src/credentials/certificates/subject.ts';
import { credentialHash } from '../../../src/credentials/keys/credential-hash.ts';
import { Issuer } from '../lifecycle/issuer.ts';
import { backdate, Holder, Project, readingOf, signedLifeOf, tracesOf } from './kubeconfig-world.ts';

const world = await operatorWorld();
const cluster = await sharedVirtualCluster();
const { admin, plane } = world;
let project: Project;

beforeAll(async () => {
  project = await Project.ready(world, cluster);
});

const seconds = (object: Stored): number =>
  (Date.parse(object.status.notAfter) - Date.parse(object.status.issuedAt)) / 1000;

async function requestOf({ metadata: { uid }, status }: Stored): Promise<Stored> {
  const name = `latchkey-${uid}-${status.serial}`;
  return await cluster.admin.client.get<Stored>(certificateSigningRequests, { name });
}

describe.concurrent('a kubeconfig with a client certificate', () => {
  it('opens the virtual cluster, at the address of its ingress, and says what it is', async () => {
    const object = await project.issued();
    const { uid, name } = object.metadata;
    const { status } = object;
    const { server, certificate, ca } = readingOf(status.kubeConfig);
    expect(server).toBe(cluster.plane.server);
    expect(ca).toBe(Buffer.from(cluster.plane.caData, 'base64').toString());
    const subject = certificateSubject(uid, 1);
    expect(certificate?.subject).toBe(`O=${subject}\nCN=${subject}`);
    expect(status).toMatchObject({
      auth: 'ClientCertificate',
      serial: 1,
      boundSerials: [1],
      virtualClusterInstanceUID: project.instance.metadata.uid,
      documentHash: credentialHash(status.kubeConfig),
      keyID: status.credentialHash.slice(0, 16),
      credentialHash: certificate?.fingerprint256.replaceAll(':', '').toLowerCase(),
    });
    expect(Date.parse(status.notAfter)).toBeLessThanOrEqual(certificate?.validToDate.getTime() ?? 0);
    expect(await tracesOf(object, cluster)).toEqual([
      'ClusterRoleBinding latchkey-UID-1',
      'CertificateSigningRequest latchkey-UID-1',
    ]);
    const holder = new Holder(status.kubeConfig, cluster);
    await holder.untilAllowed();
    await holder.close();
    const document = parse(status.kubeConfig);
    const one = `${project.namespace}/${project.instance.metadata.name}/${name}`;
    expect(document['current-context']).toBe(one);
    await admin.untilEvent(object, 'Issued');
  });

  it.each([
    ['absent', undefined, 86_400, 86_400 - backdate],
    ['600', 600, 600, 600],
    ['3600', 3_600, 3_600, 3_600],
    ['0', 0, undefined, 31_536_000 - backdate],
  ])(
    'asks for what certificateTTL %s says, and tells the real end',
    async (_, certificateTTL, asked, life) => {
      const object = await project.issued(certificateTTL === undefined ? {} : { certificateTTL });
      expect((await requestOf(object)).spec.expirationSeconds).toBe(asked);
      const reading = readingOf(object.status.kubeConfig);
      // A life of 8 hours or more ends early as well.
      expect(signedLifeOf(reading)).toBe(life);
      expect(secondsAfter(Date.parse(object.status.issuedAt), object)).toBeGreaterThanOrEqual(0);
      const { creationTimestamp } = object.metadata;
      expect(Date.parse(object.status.issuedAt)).toBeGreaterThanOrEqual(Date.parse(creationTimestamp));
      // Of two ends, that of the decision and that of the signature some time later, the first counts.
      const end = Date.parse(object.status.notAfter);
      expect(end).toBeLessThanOrEqual(reading.certificate?.validToDate.getTime() ?? 0);
      expect(end - Date.parse(creationTimestamp)).toBeGreaterThanOrEqual(life * 1_000);
      expect(object.status.expirationTimestamp).toBe(object.status.notAfter);
    },
  );

  it.each([-1, 59, 599])('cannot be asked for with certificateTTL %s', async (certificateTTL) => {
    await expect(project.create({ certificateTTL })).rejects.toMatchObject({ status: 422 });
  });

  it('leads to spec.server when there is one', async () => {
    const server = 'https://virtual.example.com:8443/path';
    const object = await project.issued({ server });
    expect(readingOf(object.status.kubeConfig).server).toBe(server);
  });

  it('does not exist without an address, and comes when there is one', async () => {
    const bare = await Project.ready(world, cluster, { host: 'none' });
    const object = await bare.create();
    const refused = await admin.untilRefused(object, 'NoIngressEndpoint');
    expect(conditionOf(refused, 'Stalled')?.status).toBe('True');
    expect(refused.status).not.toHaveProperty('kubeConfig');
    expect(await tracesOf(object, cluster)).toEqual([]);
    const given = await bare.issued({ server: cluster.plane.server });
    expect(given.status.auth).toBe('ClientCertificate');
    const { host } = new URL(cluster.plane.server);
    await admin.patch(bare.instance, { spec: { accessPoint: { ingress: { enabled: true, host } } } });
    expect((await admin.untilReady(object)).status.serial).toBe(1);
  });

  it('goes to a Secret when it is asked to, and is replaced when it is lost there', async () => {
    const secretRef = { name: world.name('out') };
    const object = await project.issued({ secretRef, certificateTTL: 3_600 });
    expect(object.status).not.toHaveProperty('kubeConfig');
    const document = await project.documentIn(secretRef.name);
    expect(credentialHash(document)).toBe(object.status.documentHash);
    const holder = new Holder(document, cluster);
    await holder.untilAllowed();
    await admin.delete(secretAt(project.namespace, secretRef.name));
    const next = await admin.until(
      object,
      'another',
      ({ status }) => status.serial === 2 && status.credentialHash,
    );
    expect(next.status.notAfter).toBe(object.status.notAfter);
    expect(credentialHash(await project.documentIn(secretRef.name))).toBe(next.status.documentHash);
    expect(await holder.refusals()).toEqual(new Set([403]));
    await holder.close();
  });

  it('never overwrites a Secret of somebody else, and binds nothing then', async () => {
    const object = await project.create({ secretRef: { name: project.made.secret.metadata.name } });
    await admin.untilRefused(object, 'SecretConflict');
    await until('nothing is left', async () => (await tracesOf(object, cluster)).length === 0);
  });
});

describe.concurrent('a kubeconfig with a token', () => {
  const issuer = new Issuer(admin);

  it('leads to the gateway, and its token is good for this instance alone', async () => {
    const bare = await Project.ready(world, cluster, { host: 'none' });
    const object = await bare.issued({ clientCert: false, certificateTTL: 600 });
    const { server, token = '', ca } = readingOf(object.status.kubeConfig);
    const { name, uid } = bare.instance.metadata;
    expect(server).toBe(`${baseURL}/kubernetes/project/${bare.name}/virtualcluster/${name}`);
    const served = await admin.get(secretAt(systemNamespace, systemObjects.gatewayCertificate));
    expect(ca).toBe(entryOf(served, 'ca.crt'));
    const claims = await issuer.verify(token, baseURL);
    expect(claims).toMatchObject({
      aud: [baseURL],
      sub: 'platform-admin',
      jti: `${object.metadata.uid}.1`,
      [group]: {
        object: { kind: object.kind, namespace: bare.namespace, name: object.metadata.name },
        instance: { namespace: bare.namespace, name, uid },
        scopes: [{ virtualClusters: [{ project: bare.name, virtualCluster: name }] }],
      },
    });
    expect(claims.groups).not.toContain('system:masters');
    expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBe(600);
    await expect(issuer.verify(token)).rejects.toThrow('aud');
    expect(object.status).toMatchObject({ auth: 'Token', credentialHash: credentialHash(token) });
    expect(await tracesOf(object, cluster)).toEqual([]);
  });

  it('carries the scopes of the keys above', async () => {
    const scope = { projects: [{ project: '*' }] };
    const key = await admin.untilReady(
      await admin.createKey({ user: 'alice', scope, allowedNamespaces: [project.namespace] }),
    );
    const object = await project.issued({ clientCert: false, accessKey: key.metadata.name });
    const { token = '' } = readingOf(object.status.kubeConfig);
    const claims = await issuer.verify(token, baseURL);
    expect(claims.sub).toBe('alice');
    expect(claims[group].scopes).toHaveLength(2);
    expect(claims[group].scopes[1]).toEqual(scope);
    expect(claims[group].parent).toEqual({ name: key.metadata.name, uid: key.metadata.uid });
  });

  it.each([
    ['absent', undefined, 86_400],
    ['0', 0, 31_536_000],
    ['60', 60, 60],
    ['599', 599, 599],
  ])('lives as certificateTTL %s says', async (_, certificateTTL, life) => {
    const spec = certificateTTL === undefined ? {} : { certificateTTL };
    const object = await project.issued({ clientCert: false, ...spec });
    expect(Math.abs(seconds(object) - life)).toBeLessThan(2);
  });

  it.each([-1, 59])('cannot be asked for with certificateTTL %s', async (certificateTTL) => {
    await expect(project.create({ clientCert: false, certificateTTL })).rejects.toMatchObject({
      status: 422,
    });
  });

  it('stays fresh in its Secret: a longer life of the access key makes a renewal due', async () => {
    const key = await admin.createKey({ user: 'alice', ttl: 30, allowedNamespaces: [project.namespace] });
    const secretRef = { name: world.name('fresh') };
    const life = { certificateTTL: 120, renewBefore: 40 };
    const spec = { clientCert: false, accessKey: key.metadata.name, secretRef, ...life };
    const first = await project.issued(spec);
    const predecessor = readingOf(await project.documentIn(secretRef.name)).token;
    await admin.patch(key, { spec: { ttl: 3_600 } });
    const isRenewed = ({ status }: Stored) => status.serial === 2 && status.credentialHash;
    const { status } = await admin.until(first, 'the successor', isRenewed);
    const { token = '' } = readingOf(await project.documentIn(secretRef.name));
    expect(token).not.toBe(predecessor);
    expect(status).toMatchObject({ credentialHash: credentialHash(token), previous: { serial: 1 } });
    await admin.untilEvent(first, 'Renewed');
  });

  it('needs the namespace of a project', async () => {
    const object = await admin.create(
      virtualClusterInstanceKubeConfigs,
      {},
      { namespace: 'default', name: world.name('kc') },
    );
    await admin.untilRefused(object, 'InstanceNotFound');
  });

  it('stands at spec.server when there is one', async () => {
    const object = await project.issued({ clientCert: false, server: 'https://gateway.example.com' });
    expect(readingOf(object.status.kubeConfig).server).toBe('https://gateway.example.com');
  });
});

describe.concurrent('an instance', () => {
  it('is waited for: first that it exists, then that it is Ready', async () => {
    const early = await admin.create(
      virtualClusterInstanceKubeConfigs,
      { clientCert: true },
      { name: world.name('early'), namespace: project.namespace },
    );
    await admin.untilRefused(early, 'InstanceNotFound');
  });

  it('is named by the kubeconfig itself when it has its name', async () => {
    const object = await project.issued(
      { virtualClusterInstance: undefined },
      { name: project.instance.metadata.name },
    );
    const document = parse(object.status.kubeConfig);
    expect(document['current-context']).toBe(`${project.namespace}/${project.instance.metadata.name}`);
  });

  it('that is deleted ends its kubeconfigs for good, and takes what they had inside along', async () => {
    const other = await Project.ready(world, cluster);
    const objects = [await other.issued(), await other.issued({ clientCert: false })];
    const holder = new Holder(objects[0]?.status.kubeConfig, cluster);
    await holder.untilAllowed();
    await admin.delete(other.instance);
    for (const object of objects) {
      const { status } = await admin.untilRefused(object, 'InstanceGone');
      expect(status).not.toHaveProperty('kubeConfig');
      expect(status).not.toHaveProperty('credentialHash');
    }
    await admin.untilGone(other.instance);
    expect(await holder.refusals()).toEqual(new Set([403]));
    expect(await tracesOf(objects[0] as Stored, cluster)).toEqual([]);
    await holder.close();
  });
});

describe.concurrent('kubectl', () => {
  const save = async (object: Stored): Promise<string> => {
    const file = path.join(world.guard.folder, `${object.metadata.name}.yaml`);
    await writeFile(file, object.status.kubeConfig, { mode: 0o600 });
    return file;
  };

  it('works with an issued kubeconfig as it is', async () => {
    const object = await project.issued();
    const [{ user }] = parse(object.status.kubeConfig).users;
    // The form that every client reads.
    const key = Buffer.from(user['client-key-data'], 'base64').toString();
    expect(key).toMatch(/^-----BEGIN EC PRIVATE KEY-----\n/);
    const kubeconfig = await save(object);
    const namespaces = async () => await plane.kubectl(['get', 'namespaces', '-o', 'name'], { kubeconfig });
    const { stdout } = await until('kubectl is let in', async () => {
      const result = await namespaces();
      return result.exitCode === 0 && result;
    });
    expect(stdout).toContain('namespace/kube-system');
    const { stdout: who } = await plane.kubectl(['auth', 'whoami', '-o', 'json'], { kubeconfig });
    const { username, groups } = JSON.parse(who).status.userInfo;
    const subject = certificateSubject(object.metadata.uid, 1);
    expect({ username, groups }).toEqual({ username: subject, groups: [subject, 'system:authenticated'] });
  });

  it('merges two of them into one', async () => {
    const files = [
      await save(await project.issued()),
      await save(await project.issued({ clientCert: false })),
    ];
    const { stdout } = await plane.kubectl(['config', 'view', '--flatten', '-o', 'json'], {
      kubeconfig: files.join(path.delimiter),
    });
    const merged = JSON.parse(stdout);
    for (const list of ['clusters', 'users', 'contexts']) expect(merged[list]).toHaveLength(2);
  });

  it('shows instance, form, end and state', async () => {
    const object = await project.issued();
    const row = async () => {
      const { stdout } = await plane.kubectl(['get', 'vcik', object.metadata.name, '-n', project.namespace]);
      return firstRowOf(stdout);
    };
    expect(await row()).toMatchObject({
      NAME: object.metadata.name,
      SUBJECT: object.metadata.annotations?.[annotations.requester],
      TARGET: expect.stringContaining(project.instance.metadata.name),
      AUTH: 'ClientCertificate',
      EXPIRES: object.status.expirationTimestamp,
      STATE: 'Ready',
    });
    expect(Object.keys(await row())).toContain('AGE');
  });
});
