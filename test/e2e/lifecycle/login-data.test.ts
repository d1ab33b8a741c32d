import { describe, expect, it } from 'vitest';
import { entryOf, type Stored, secretAt } from '../../../lab/operator/api.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { labels, systemNamespace } from '../../../src/api/names.ts';
import { reasons } from '../../../src/api/reasons.ts';

const world = await operatorWorld();
const { admin } = world;

const identity = { username: 'alice', connector: 'ldap', connectorData: 'data-of-the-connector' };
const oidcLogin = {
  idToken: 'id-token-of-the-login',
  accessToken: 'access-token-of-the-login',
  refreshToken: 'refresh-token-of-the-login',
  lastRefresh: '2026-11-20T10:00:00Z',
};
const values = [identity.connectorData, oidcLogin.idToken, oidcLogin.accessToken, oidcLogin.refreshToken];

describe('the login data of an access key', () => {
  it('moves to a Secret in the system namespace, and the rest stays', async () => {
    const key = await admin.createKey({ user: 'alice', type: 'Login', identity, oidcLogin });

    const moved = await admin.untilReady(key);

    for (const value of values) expect(JSON.stringify(moved)).not.toContain(value);
    const { connectorData: _data, ...identityLeft } = identity;
    expect(moved.spec).toMatchObject({ type: 'Login', identity: identityLeft });
    expect(moved.spec.oidcLogin).toEqual({ lastRefresh: oidcLogin.lastRefresh });
    const secret = await admin.get(loginSecretOf(key));
    const entries = ['connectorData', 'idToken', 'accessToken', 'refreshToken'];
    expect(entries.map((entry) => entryOf(secret, entry))).toEqual(values);
    expect(Object.keys(secret.data ?? {})).toHaveLength(entries.length);
    expect(secret.metadata.labels).toMatchObject({ [labels.ownerUID]: key.metadata.uid });
    expect(secret.metadata.ownerReferences).toMatchObject([{ uid: key.metadata.uid }]);
    for (const value of values) expect(await world.operator.log()).not.toContain(value);
  });

  it('is taken again when it is set again, beside what was taken before', async () => {
    const key = await admin.createKey({ user: 'alice', identity, oidcLogin });
    const { status } = await admin.untilReady(key);
    await admin.patch(key, { spec: { oidcLogin: { accessToken: 'a-later-access-token' } } });
    const taken = ({ spec }: Stored) => spec.oidcLogin?.accessToken === undefined;
    await admin.until(key, 'taken again', taken);
    const secret = await admin.get(loginSecretOf(key));
    expect(entryOf(secret, 'accessToken')).toBe('a-later-access-token');
    expect(entryOf(secret, 'connectorData')).toBe(identity.connectorData);
    const after = await admin.untilReady(key);
    expect(after.status).toMatchObject({ serial: 1, credentialHash: status.credentialHash });
  });

  it('is taken from a key that is refused as well', async () => {
    const key = await admin.createKey({ accessKey: world.name('nobody'), identity, oidcLogin });
    const refused = await admin.untilRefused(key, reasons.accessKeyNotFound);
    for (const value of values) expect(JSON.stringify(refused)).not.toContain(value);
    expect(entryOf(await admin.get(loginSecretOf(key)), 'refreshToken')).toBe(oidcLogin.refreshToken);
  });

  it('goes with the key', async () => {
    const key = await admin.untilReady(await admin.createKey({ user: 'alice', identity, oidcLogin }));
    expect(await admin.find(loginSecretOf(key))).toBeDefined();
    await admin.delete(key);
    await admin.untilGone(key);
    await admin.untilGone(loginSecretOf(key));
  });
});

const loginSecretOf = ({ metadata: { uid } }: Stored) => secretAt(systemNamespace, `latchkey-login-${uid}`);
