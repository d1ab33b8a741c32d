import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, it } from 'vitest';
import { RunningGateway } from '../../../lab/gateway/running-gateway.ts';
import { makePod, startKubelet } from '../../../lab/kubelet/kubelet.ts';
import { concurrently } from '../../../lab/operator/concurrently.ts';
import { startInstalled } from '../../../lab/operator/installed-plane.ts';
import { Kubectl } from '../../../lab/operator/kubectl.ts';
import { bindRole, giveRight } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { targetSettings } from '../../../lab/operator/world.ts';
import { extras, group, serviceAccounts, systemNamespace } from '../../../src/api/names.ts';
import { generateAccessKey } from '../../../src/credentials/keys/access-key.ts';
import { credentialHash, keyIDOf } from '../../../src/credentials/keys/credential-hash.ts';
import {
  elasticsearchFields,
  loki,
  refusedFields,
  valueAt,
} from '../../../tools/reference/audit-collectors.ts';
import { type AuditEvent, eventsIn } from '../../builders/audit-lines.ts';
import { runElsewhere } from '../../e2e/document-runs.ts';
import { isCommand, stepsOf } from '../../e2e/document-steps.ts';
import { gatewayWorld } from '../../e2e/gateway/gateway-world.ts';
import { knownHolder, kubectlWith, untilReached, untilUnknown } from '../../e2e/gateway/known-holder.ts';
import { Project } from '../../e2e/kubeconfigs/kubeconfig-world.ts';
import { makeCluster } from '../../e2e/targets/target-world.ts';
import { auditEvents, auditPolicyFor } from '../../integration/rbac/audit-uses.ts';
import { administratorSteps } from './administrator-steps.ts';
import { holderSteps } from './holder-steps.ts';

const account = `system:serviceaccount:${systemNamespace}:${serviceAccounts.gateway}`;
const folder = await mkdtemp(path.join(tmpdir(), 'audit-log-'));
const [gatewayLog, operatorLog] = ['gateway', 'operator'].map((name) => path.join(folder, `${name}.log`)) as [
  string,
  string,
];
const plane = await startInstalled({ name: 'gateway-audit', auditPolicy: auditPolicyFor(account) });
afterAll(async () => {
  await plane.stop();
  await rm(folder, { recursive: true });
});
const audited = (file: string) => ({ LATCHKEY_AUDIT: 'require', LATCHKEY_AUDIT_LOG: file });
/** The shortest that a gateway may trust what it knows, seconds. It asks for rights again in less time. */
const staleAfter = 25;
const world = await gatewayWorld(
  { ...audited(gatewayLog), LATCHKEY_STALE_AFTER: `${staleAfter}s` },
  { ...audited(operatorLog), ...targetSettings },
  plane,
);
const { admin, gateway, guard } = world;
const alice = world.name('alice');
const sessions = ['configmaps', 'pods', 'pods/exec'];
await giveRight(admin, alice, { apiGroups: [''], resources: sessions, verbs: ['*'] });
await giveRight(admin, alice, { apiGroups: [group], resources: ['virtualclusterinstances'], verbs: ['use'] });

interface Event {
  readonly stageTimestamp: string;
  readonly requestURI: string;
  readonly auditID: string;
  readonly sourceIPs: readonly string[];
  readonly user: object;
  readonly impersonatedUser: { readonly username: string };
}

it('the audit log of the API server has the address of the client, the user and the key, and nothing that the client says of itself', async () => {
  const { key, object } = await knownHolder(world, { user: alice });
  const path = `/api/v1/namespaces/default/configmaps?labelSelector=${world.name('asked')}`;
  const claimed = '00000000-0000-4000-8000-000000000000';
  const request = get({
    ...{ host: '127.0.0.1', port: world.gateway.port, servername: 'localhost', ca: world.gateway.ca },
    // Another address of this machine than the one that the gateway itself calls from.
    localAddress: '127.0.0.2',
    path: `/kubernetes/management${path}`,
    headers: {
      authorization: `Bearer ${key}`,
      'audit-id': claimed,
      'x-forwarded-for': '192.0.2.1',
      'x-real-ip': '192.0.2.2',
    },
  });
  const [answer] = await once(request, 'response');
  await text(answer);
  expect(answer.statusCode).toBe(200);
  const event = await until('the event', async () => {
    const events = auditEvents(await readFile(plane.auditLog ?? '', 'utf8')) as unknown as Event[];
    return events.find(({ requestURI }) => requestURI === path);
  });
  expect(event).toMatchObject({
    user: { username: account },
    impersonatedUser: {
      username: alice,
      groups: ['system:authenticated'],
      extra: { [extras.accessKey]: [`${object.metadata.name}/${object.metadata.uid}`] },
    },
  });
  expect(event.sourceIPs).toEqual(['127.0.0.2', '127.0.0.1']);
  expect(event.auditID).not.toBe(claimed);
  expect(answer.headers['audit-id']).toBe(event.auditID);
  expect(await readFile(plane.auditLog ?? '', 'utf8')).not.toContain(key);
});

/** Waits for the line about the end of a request that is so. */
const lineOf = async (what: string, isIt: (event: AuditEvent) => boolean, file = gatewayLog) =>
  await until(what, async () =>
    eventsIn(file).find((event) => event.stage === 'ResponseComplete' && isIt(event)),
  );

/** Waits until the API server has an event under this name. */
const inUpstream = async (auditID: string) =>
  await until('the event of the API server', async () => {
    const events = auditEvents(await readFile(plane.auditLog ?? '', 'utf8')) as unknown as Event[];
    return events.find((event) => event.auditID === auditID);
  });

const project = await Project.ready(world, await sharedVirtualCluster());
const kubelet = await startKubelet(guard, plane, project.cluster.plane);

describe('the audit log of the operator has a line for what an administrator does to it at the API server, but to a label, a name or the life of a key:', async () => {
  const parent = await admin.untilReady(await admin.createKey({ user: alice }));
  it.concurrent.each(administratorSteps(admin, { user: alice, parent, project }))(
    '%s',
    async (_, make, steps) => {
      const object = await make();
      const { uid } = object.metadata;
      const lines = async () =>
        eventsIn(operatorLog)
          .filter(({ annotations: notes }) => notes['credential-uid'] === uid)
          .map(({ verb, annotations: notes }) => [verb, notes['reason'], notes['decision']]);
      const seen: unknown[] = [];
      const untilNext = async (change: string, line: readonly string[]) => {
        seen.push(line);
        const isThere = async () => (await lines()).length >= seen.length;
        await until(`the line of one that is ${change}`, isThere);
        expect(await lines()).toEqual(seen);
      };
      await untilNext('made', ['issue', 'Issued', 'allow']);
      // The next line shows that this has none.
      await admin.patch(object, { metadata: { labels: { a: 'b' } } });
      if (object.kind === 'OwnedAccessKey')
        await admin.patch(object, { spec: { displayName: 'a', ttl: 9_000 } });
      for (const [change, line, step] of steps) {
        await step(object);
        await untilNext(change, line);
      }
    },
  );
});

describe('the audit log of the gateway', async () => {
  const team = await kubectlWith(world, { user: alice });
  const { metadata } = team.object;
  const scope = { roles: [{ role: 'platform-cli' }] };

  it('has a line for what kubectl reads, under the name that the API server has for it', async () => {
    const name = world.name('read');
    await team.ok(['get', 'configmaps', '-l', `app=${name}`]);
    const line = await lineOf('the line', ({ requestURI }) => requestURI.includes(name));
    expect(line).toMatchObject({
      ...{ verb: 'list', responseStatus: { code: 200 }, sourceIPs: ['127.0.0.1'] },
      user: { username: alice, groups: [] },
      userAgent: expect.stringMatching(/^kubectl\//),
      objectRef: { resource: 'configmaps', namespace: 'default' },
    });
    expect(line.annotations).toMatchObject({
      ...{ credential: metadata.name, 'credential-uid': metadata.uid, 'root-key-uid': metadata.uid },
      ...{ 'key-id': keyIDOf(credentialHash(team.key)), target: 'management', decision: 'allow' },
      'upstream-audit-id': line.auditID,
    });
    expect((await inUpstream(line.auditID)).requestURI).toContain(name);
  });

  it('has two for a watch', async () => {
    const name = world.name('watched');
    const watch = await team.begin(['get', 'configmaps', '--watch', '-l', `app=${name}`]);
    const started = async () =>
      eventsIn(gatewayLog).find(
        ({ stage, requestURI, verb }) =>
          stage === 'ResponseStarted' && verb === 'watch' && requestURI.includes(name),
      );
    const { auditID } = await until('its beginning', started);
    await watch.end();
    await lineOf('its end', (event) => event.auditID === auditID);
  });

  it('has the bytes and seconds of a shell, and the API server calls it the same', async () => {
    const pod = await makePod(admin, kubelet);
    expect(await team.ok(['exec', pod, '--', 'echo', 'a'.repeat(1_000)])).toBe(`${'a'.repeat(1_000)}\n`);
    const line = await lineOf('the line', ({ objectRef }) => objectRef?.['subresource'] === 'exec');
    expect(line).toMatchObject({ responseStatus: { code: 101 }, objectRef: { resource: 'pods', name: pod } });
    expect(line.requestURI).not.toContain('command');
    expect(Number(line.annotations['tunnel-sent-bytes'])).toBeGreaterThan(1_000);
    expect(Number(line.annotations['tunnel-seconds'])).toBeGreaterThan(0);
    expect((await inUpstream(line.auditID)).requestURI).toContain(`/pods/${pod}/exec`);
  });

  it('has a line for what the scope refuses', async () => {
    const limited = await knownHolder(world, { user: alice, scope });
    const kubectl = new Kubectl(world, await gateway.kubeconfig(limited.key));
    expect((await kubectl.run(['get', 'configmaps'])).exitCode).toBe(1);
    const line = await lineOf('the line', ({ annotations: { error } }) => error === 'ERR_SCOPE');
    expect(line.responseStatus?.code).toBe(403);
    expect(line.annotations).toMatchObject({
      decision: 'refuse',
      'credential-uid': limited.object.metadata.uid,
    });
    expect(line.annotations['upstream-audit-id']).toBeUndefined();
  });

  it.concurrent.each(holderSteps(scope, project))(
    'has a line for all that is done to a credential, and the operator one for what comes of it: %s',
    async (_, { object, steps, outcomes }) => {
      const name = world.name('made');
      const { kind, namespace = 'default' } = object;
      const uidOf = async () =>
        await team.ok(['get', kind.toLowerCase(), name, '-n', namespace, '-o', 'jsonpath={.metadata.uid}']);
      let uid = '';
      for (const [, step] of steps) {
        await step(team, object, name);
        uid ||= await uidOf();
      }
      const linesIn = (file: string) =>
        eventsIn(file)
          .filter(({ stage, annotations: notes }) => stage === 'ResponseComplete' && notes['action'])
          .filter(({ annotations: notes }) => (notes['changed-uid'] ?? notes['credential-uid']) === uid);
      const actionsIn = (file: string) => linesIn(file).map(({ annotations: notes }) => notes['action']);
      await until('the line about the end', async () => actionsIn(operatorLog).includes('delete'));
      const done = linesIn(gatewayLog).filter(({ responseStatus }) => responseStatus?.code !== 409);
      expect(done.map(({ annotations: notes }) => notes['action'])).toEqual(steps.map(([action]) => action));
      const [first, ...others] = actionsIn(operatorLog);
      expect([first, others]).toEqual(['issue', expect.arrayContaining([...outcomes])]);
      const [issued] = linesIn(operatorLog);
      expect(issued?.annotations).toMatchObject({ requester: alice, subject: alice });
    },
  );

  it('answers what docs/guide/who-used-my-key.md asks, and nowhere holds a key', async () => {
    await admin.patch(team.object, { spec: { disabled: true } });
    await untilUnknown(gateway, team.key);
    await lineOf('a refusal', ({ annotations: { error } }) => error === 'ERR_UNAUTHENTICATED');
    const page = 'docs/guide/who-used-my-key.md';
    const steps = stepsOf(page).filter(isCommand);
    expect([...new Set(steps.map(({ section }) => section))]).toEqual(
      runElsewhere['test/outages/gateway/audit-log.test.ts'][page],
    );
    const commands = steps.map(({ block }) =>
      block.command
        .replace(/^kubectl logs [^|]*/, `cat ${gatewayLog} ${operatorLog} `)
        .replace('"ci"', JSON.stringify(metadata.name)),
    );
    const script = ['set -e -o pipefail', ...commands].join('\n');
    const env = { ...process.env, KEY: team.key };
    const { stdout, stderr, status } = spawnSync('bash', ['-c', script], {
      cwd: folder,
      env,
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([0, '']);
    // One for each question of the page, in its order.
    const answers = [
      / list \/kubernetes\/management\/api\/v1\/namespaces\/default\/configmaps/,
      /^ *\d+ 127\.0\.0\.1$/m,
      /^disable OwnedAccessKey \S+ 200$/m,
      / create \S+\/ownedaccesskeys\S* 201$/m,
      /\/exec\?\S* \d+\.\d+ \d+$/m,
      /^127\.0\.0\.1 1$/m,
    ];
    for (const answer of answers) expect(stdout).toMatch(answer);
    for (const file of [gatewayLog, operatorLog])
      expect(await readFile(file, 'utf8')).not.toContain(team.key.slice(3));
  });

  describe('as docs/reference/audit.md has it read', () => {
    const linesIn = async (file: string): Promise<readonly unknown[]> =>
      (await readFile(file, 'utf8'))
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line));
    const lines = async () => (await Promise.all([gatewayLog, operatorLog].map(linesIn))).flat();

    it('has each field for Loki, as text, and few values for each label', async () => {
      const found = await lines();
      const valuesOf = (name: string) =>
        new Set(
          found.map((line) => valueAt(line, loki.fields[name] ?? [])).filter((value) => value !== undefined),
        );
      for (const name of [...loki.labels, ...loki.metadata])
        expect([name, new Set([...valuesOf(name)].map((value) => typeof value))]).toEqual([
          name,
          new Set(['string']),
        ]);
      for (const name of loki.labels) expect([name, valuesOf(name).size < 5]).toEqual([name, true]);
    });

    it('has each field for Elasticsearch, with values that its type takes', async () => {
      const found = await lines();
      for (const { path: place } of elasticsearchFields)
        expect([place, found.some((line) => valueAt(line, place) !== undefined)]).toEqual([place, true]);
      expect(found.flatMap(refusedFields)).toEqual([]);
    });
  });
});

it.concurrent('refusals of strangers have lines of their own up to a rate, and are summed up above it', async () => {
  const unknown = generateAccessKey(randomBytes(32));
  const keyID = keyIDOf(credentialHash(unknown));
  const asked = `/kubernetes/management/${world.name('strange')}`;
  const sent = { withKey: 250, without: 50 };
  const keys = [
    ...Array.from({ length: sent.withKey }, () => unknown),
    ...Array.from({ length: sent.without }, () => undefined),
  ];
  const start = performance.now();
  const send = async (key: string | undefined) => {
    const { statusCode, body } = await gateway.send(asked, key === undefined ? {} : { key });
    expect([statusCode, (await body.text()).includes('ERR_UNAUTHENTICATED')]).toEqual([401, true]);
  };
  await concurrently(keys, send, 50);
  // A hundred at once, and ten a second.
  const mostAlone = 100 + Math.ceil((performance.now() - start) / 100);
  const linesWith = async (id: string | undefined) => {
    const all = eventsIn(gatewayLog).filter(({ annotations: notes }) => notes['key-id'] === id);
    const alone = all.filter(({ requestURI }) => requestURI === asked);
    const sums = all.filter(({ verb }) => verb === 'summary');
    const count = sums.reduce((sum, { annotations: notes }) => sum + Number(notes['count']), 0);
    return { alone: alone.length, count, sums };
  };
  for (const [id, expected] of [
    [keyID, sent.withKey],
    [undefined, sent.without],
  ] as const) {
    const isWhole = async () => {
      const lines = await linesWith(id);
      return lines.alone + lines.count >= expected && lines;
    };
    const { alone, count, sums } = await until('all of them', isWhole);
    expect(alone + count).toBe(expected);
    expect(alone).toBeLessThanOrEqual(mostAlone);
    expect(count).toBeGreaterThan(0);
    expect(sums[0]).toMatchObject({
      ...{ user: { username: 'system:anonymous' }, requestURI: '', sourceIPs: ['127.0.0.1'] },
      ...{ responseStatus: { code: 401 }, stage: 'ResponseComplete' },
      annotations: { decision: 'refuse', error: 'ERR_UNAUTHENTICATED' },
    });
  }
  expect(await readFile(gatewayLog, 'utf8')).not.toContain(unknown.slice(3));
});

it.concurrent('a shell whose user may no longer use its target is cut when the gateway asks again, which it does without being asked', async () => {
  const bob = world.name('bob');
  const inside = project.cluster;
  const { cluster } = await makeCluster(world, await inside.adminKubeConfig());
  await giveRight(inside.admin, bob, { apiGroups: [''], resources: ['pods', 'pods/exec'], verbs: ['*'] });
  const binding = await bindRole(admin, bob, 'latchkey-use-cluster');
  await admin.untilReady(cluster);
  const target = `cluster/${cluster.metadata.name}`;
  const { key } = await knownHolder(world, { user: bob });
  await untilReached(gateway, key, target);
  const kubectl = new Kubectl(world, await gateway.kubeconfig(key, target));
  const pod = await makePod(inside.admin, kubelet);
  const shell = await kubectl.begin([
    'exec',
    pod,
    '--',
    'sh',
    '-c',
    'while echo running; do sleep 0.05; done',
  ]);
  await shell.until('output', (lines) => lines.includes('running'));
  const lost = Date.now();
  await admin.delete(binding);
  const line = await lineOf(
    'the end',
    ({ objectRef }) => objectRef?.['name'] === pod && objectRef['subresource'] === 'exec',
  );
  expect(line.annotations).toMatchObject({
    ...{ target, decision: 'allow' },
    cut: 'the credential, its user or the target no longer allows this',
  });
  await shell.until('the reason', (lines) => /close 1008 \(policy violation\)/.test(lines.join()));
  const cut = Date.parse(line.stageTimestamp);
  // A third of that time, by chance up to 30 % later, and two seconds for a busy machine.
  expect(cut - lost).toBeLessThan(((staleAfter * 1.3) / 3 + 2) * 1_000);
  const questions = auditEvents(await readFile(plane.auditLog ?? '', 'utf8')) as unknown as Event[];
  const last = questions.findLast(
    ({ requestURI, impersonatedUser: { username }, stageTimestamp }) =>
      requestURI.endsWith('/selfsubjectaccessreviews') &&
      username === bob &&
      Date.parse(stageTimestamp) <= cut + 5,
  );
  const learnt = Date.parse(last?.stageTimestamp ?? '');
  expect(learnt).toBeGreaterThan(lost);
  expect(cut - learnt).toBeLessThan(1_000);
});

describe.concurrent('a gateway whose lines no one takes', async () => {
  const { key } = await knownHolder(world, { user: alice });
  const pipe = path.join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const asked = '/kubernetes/management/api/v1/namespaces/default/configmaps';

  const begin = async (mode: string, file: string) => {
    const env = { LATCHKEY_AUDIT: mode, LATCHKEY_AUDIT_LOG: file };
    const options = { name: world.name('stuck'), env, unread: file === '-' };
    const started = await RunningGateway.start(plane, guard, options);
    const send = async () => {
      const { statusCode, body } = await started.send(asked, { key });
      return [statusCode, await body.text()] as const;
    };
    const metric = async (name: string) => {
      const answer = await fetch(`http://127.0.0.1:${await started.listeningPort('metrics')}/metrics`);
      return Number(new RegExp(`^${name} (.*)$`, 'm').exec(await answer.text())?.[1]);
    };
    /** More than a pipe has room for. */
    const sendMany = async () => await Promise.all(Array.from({ length: 60 }, send));
    return { started, sendMany, metric };
  };

  const places = [
    ['a full disk', '/dev/full'],
    ['a pipe that no one reads', pipe],
    ['standard output that no one reads', '-'],
  ] as const;

  it.concurrent.each(places)(
    'lets nothing through where lines are required, and ends in time: %s',
    async (_, file) => {
      const { started, sendMany, metric } = await begin('require', file);
      const held = await until('a request is held', async () =>
        (await sendMany()).find(([status]) => status === 503),
      );
      expect(held[1]).toContain('ERR_AUDIT_UNAVAILABLE');
      expect(await metric('latchkey_audit_stuck_seconds')).toBeGreaterThan(4);
      expect(await started.end()).toBe(0);
    },
  );

  it.concurrent.each(places)('serves on in best effort, and ends in time: %s', async (_, file) => {
    const { started, sendMany, metric } = await begin('best-effort', file);
    const written = async () => await metric('latchkey_audit_lines_total{outcome="written"}');
    await until('lines are stuck', async () => {
      const isServed = (await sendMany()).every(([status]) => status === 200);
      // A write that is under way on a busy machine is no stuck one.
      return isServed && (await metric('latchkey_audit_stuck_seconds')) > 2;
    });
    const before = await written();
    expect((await sendMany()).map(([status]) => status)).toEqual(Array.from({ length: 60 }, () => 200));
    expect([await written(), file === '-' || before === 0]).toEqual([before, true]);
    expect(await started.end()).toBe(0);
  });
});

describe('when its file was moved away, as programs that rotate logs do', async () => {
  const { key } = await knownHolder(world, { user: alice });
  const has = async (file: string, line: string) =>
    existsSync(file) && (await readFile(file, 'utf8')).includes(line);

  it.each<[string, () => number, string, () => Promise<string>]>([
    [
      'gateway',
      () => gateway.process.pid,
      gatewayLog,
      async () => {
        const name = world.name('rotated');
        const { body } = await gateway.send(
          `/kubernetes/management/api/v1/namespaces/default/configmaps/${name}`,
          { key },
        );
        await body.dump();
        return name;
      },
    ],
    [
      'operator',
      () => world.operator.process.pid,
      operatorLog,
      async () => (await admin.untilReady(await admin.createKey())).metadata.name,
    ],
  ])('the %s writes on in a new one after a SIGHUP, and no line is lost', async (_, pid, file, cause) => {
    const moved = `${file}.1`;
    await rename(file, moved);
    const before = await cause();
    await until('the line in the former file', async () => await has(moved, before));
    expect(existsSync(file)).toBe(false);
    process.kill(pid(), 'SIGHUP');
    await until('a line in the new file', async () => {
      const line = await cause();
      await until('its line', async () => (await has(moved, line)) || (await has(file, line)));
      return await has(file, line);
    });
  });
});
