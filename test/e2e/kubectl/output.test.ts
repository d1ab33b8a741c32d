import { decodeProtectedHeader } from 'jose';
import { describe, expect, it } from 'vitest';
import { type Stored, secondsAfter } from '../../../lab/operator/api.ts';
import { firstRowOf, Kubectl, placeOf } from '../../../lab/operator/kubectl.ts';
import { manifestOf } from '../../../lab/operator/manifest.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { ownedAccessKeys } from '../../../src/api/resources.ts';
import { credentialHash } from '../../../src/credentials/keys/credential-hash.ts';

const world = await operatorWorld();
const { admin } = world;
const user = await world.user('output-user');
const kubectl = new Kubectl(world, user.kubeconfig);

describe('kubectl wait', () => {
  it('returns as soon as a new object is ready, and at once for one that is', async () => {
    const key = manifestOf(ownedAccessKeys);
    await kubectl.send('apply', key);
    const wait = ['wait', '--for=condition=Ready', '--timeout=120s', ...placeOf(key)];
    expect(await kubectl.ok(wait)).toBe(
      `ownedaccesskey.management.platform.sh/${key.metadata.name} condition met\n`,
    );
    await kubectl.ok(wait);
    // After a lost wake-up it would be the next look at everything, in minutes.
    const ready = await admin.get(key);
    expect(secondsAfter(Date.parse(ready.metadata.creationTimestamp), ready)).toBeLessThan(30);
  });

  it('sees that a key stopped working', async () => {
    const key = await admin.untilReady(await user.api.createKey());
    await user.api.patch(key, { spec: { disabled: true } });
    await kubectl.ok(['wait', '--for=condition=Ready=False', '--timeout=120s', ...placeOf(key)]);
    await kubectl.ok(['wait', '--for=jsonpath={.status.active}=false', '--timeout=120s', ...placeOf(key)]);
  });
});

describe('kubectl get', () => {
  const rowsOf = async (object: Stored) => {
    const table = await kubectl.ok(['get', ...placeOf(object)]);
    const wide = await kubectl.ok(['get', ...placeOf(object), '-o', 'wide']);
    const events = await kubectl.ok(['describe', ...placeOf(object), '--show-events=false']);
    return { row: firstRowOf(table), wide: firstRowOf(wide), text: table + wide, described: events };
  };

  it('shows an access key without the key', async () => {
    const spec = { user: 'alice', type: 'User', ttl: 3_600 };
    const key = await admin.untilReady(await user.api.createKey(spec));

    const { row, wide, text } = await rowsOf(key);

    const end = new Date(new Date(key.metadata.creationTimestamp).getTime() + 3_600_000);
    const columns = {
      NAME: key.metadata.name,
      SUBJECT: 'alice',
      SCOPE: '(everything)',
      STATE: 'Ready',
      EXPIRES: end.toISOString().replace('.000Z', 'Z'),
      'LAST USED': '',
      AGE: expect.stringMatching(/^\d+s$/),
    };
    expect(row).toEqual(columns);
    expect(wide).toEqual({ ...columns, PARENT: '', 'KEY ID': key.status.credentialHash.slice(0, 16) });
    expect(key.spec.key).toMatch(/^lk_/);
    expect(text).not.toContain(key.spec.key);
    expect(text).not.toContain(key.status.credentialHash);
  });

  it('shows a token without the token', async () => {
    const token = await admin.untilReady(await user.api.createToken({ ttl: 3_600 }));

    const { row, wide, text } = await rowsOf(token);

    const columns = {
      NAME: token.metadata.name,
      SUBJECT: 'output-user',
      SCOPE: '(everything)',
      STATE: 'Ready',
      EXPIRES: token.status.notAfter,
      AGE: expect.stringMatching(/^\d+s$/),
    };
    expect(row).toEqual(columns);
    const keyID = credentialHash(token.status.token).slice(0, 16);
    expect(wide).toEqual({ ...columns, PARENT: '', 'KEY ID': keyID });
    expect(token.status.signingKeyID).toBe(decodeProtectedHeader(token.status.token).kid);
    for (const part of token.status.token.split('.')) expect(text).not.toContain(part);
  });

  it('tells why a key does not work', async () => {
    const key = await user.api.createKey({ user: 'alice', disabled: true });
    const { wide, described } = await rowsOf(await admin.untilRefused(key, reasons.disabled));
    expect(wide).toMatchObject({ STATE: 'Disabled' });
    expect(described).toContain('The key is disabled by spec.disabled.');
  });
});

describe('kubectl get --watch', () => {
  it('shows each transition of a key, and no secret', async () => {
    const name = world.name('watched');
    const labelled = (suffix: string) => ({
      ...manifestOf(ownedAccessKeys),
      metadata: { name: name + suffix, labels: { test: name } },
    });
    await kubectl.send('apply', labelled('-before'));
    const columns =
      '-o=custom-columns=NAME:.metadata.name,READY:.status.conditions[0].status,WHY:.status.conditions[0].reason';
    const args = ['get', 'oak', '--watch', '--no-headers', '--selector', `test=${name}`, columns];
    const watching = await kubectl.begin(args);
    // From the list that holds it kubectl watches on: nothing that comes after can be missed.
    await watching.until('the watch begins', (lines) => lines.some((line) => line.includes('-before')));
    const seen = async (...expected: string[]) =>
      await watching.until(expected.join(), (lines) => statesOf(lines, name).join() === expected.join());

    await kubectl.send('apply', labelled(''));
    await seen('Unknown Pending', 'True Issued');
    await kubectl.ok(['patch', 'oak', name, '--type=merge', '-p', '{"spec":{"disabled":true}}']);
    await seen('Unknown Pending', 'True Issued', 'False Disabled');
    await kubectl.ok(['patch', 'oak', name, '--type=merge', '-p', '{"spec":{"disabled":false}}']);
    const lines = await seen('Unknown Pending', 'True Issued', 'False Disabled', 'True Issued');

    expect(lines.join('\n')).not.toMatch(/lk_/);
    await watching.end();
  });

  /** The states of one object in lines of `NAME READY WHY`, each once where it stays. */
  const statesOf = (lines: readonly string[], name: string): readonly string[] =>
    lines
      .map((line) => line.split(/\s+/))
      .filter(([of]) => of === name)
      .map(([, ...state]) => state.join(' ').trim())
      .filter((state, i, all) => state !== all[i - 1]);
});

describe('kubectl events', () => {
  it('lists what happened to a key', async () => {
    const key = await user.api.createKey();
    await admin.untilEvent(key, 'Issued');
    const { stdout } = await world.plane.kubectl(['events', '--for', placeOf(key)[0] ?? '', '-n', 'default']);
    expect(stdout).toMatch(/Normal +Issued +OwnedAccessKey\/\S+ +The credential with serial 1 was issued\./);
  });
});

describe('kubectl diff', () => {
  it('prints the generated key of an object that has changed, and none that stands in a Secret', async () => {
    const secretRef = { namespace: 'default', name: world.name('diffed') };
    const [plain, hidden] = [manifestOf(ownedAccessKeys), manifestOf(ownedAccessKeys)];
    const withTTL = (ttl: number) => [
      { ...plain, spec: { user: 'alice', ttl } },
      { ...hidden, spec: { user: 'alice', ttl, secretRef } },
    ];
    const both = withTTL(3_600);
    await kubectl.send('apply', both);
    await kubectl.send('wait', both, '--for=condition=Ready', '--timeout=120s');
    const { key } = (await kubectl.get(plain)).spec;

    const diff = await kubectl.diff(withTTL(7_200));

    expect(diff.match(/^\+ +ttl: 7200$/gm)).toHaveLength(2);
    expect(diff).toContain(key);
    expect(diff.match(/lk_\w+/g)).toEqual([key]);
  });
});
