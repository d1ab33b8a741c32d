import { describe, expect, it } from 'vitest';
import { liveRecord } from '../../../../test/builders/credential-object.ts';
import { verdictFor } from '../../../../test/builders/gateway-stage.ts';
import type { AccessQuestion } from '../../../platform/access-review.ts';
import { Refusal } from '../shared/reply.ts';
import { changedPlatformField, requirePlatformFields } from './checks.ts';
import type { OwnRequest } from './request.ts';

/** Fields that only the platform sets, with a value. */
const values = {
  identity: { email: 'alice@example.com', groups: ['board'] },
  identityRefresh: '2026-01-01T00:00:00Z',
  oidcProvider: { clientId: 'dashboard', redirectUri: 'https://dashboard.example.com' },
  oidcLogin: { idToken: 'token-of-the-login' },
  parent: 'session',
} as const;
const login = { user: 'alice', identity: values.identity, parent: 'session', type: 'Login' };
const empty = { identity: {}, oidcProvider: {}, oidcLogin: {}, parent: '', type: '' };
const fieldIn = (spec: object, stored: object = {}) =>
  changedPlatformField({ spec: { ...spec } }, { spec: { ...stored } });

describe('a field of the platform is', () => {
  it.each(Object.entries(values))('new: %s', (field, value) => {
    expect(fieldIn({ [field]: value })).toBe(field);
  });

  it.each(['Login', 'Reset', 'OIDCRefreshToken', 'NetworkPeer', 'Workspace'])('new: the type %s', (type) => {
    expect(fieldIn({ type })).toBe('type');
  });

  it.each<[string, object, object, string]>([
    ['changed', { ...login, identity: { email: 'boss@example.com' } }, login, 'identity'],
    [
      'changed in a part',
      { ...login, identity: { ...login.identity, emailVerified: true } },
      login,
      'identity',
    ],
    ['dropped', { ...login, identity: undefined }, login, 'identity'],
    ['dropped with null', { ...login, identity: null }, login, 'identity'],
    ['emptied', { ...login, identity: {} }, login, 'identity'],
    ['dropped with spec', {}, login, 'identity'],
    ['a type that is given up for another', { ...login, type: 'Other' }, login, 'type'],
    ['a type that is dropped', { ...login, type: undefined }, login, 'type'],
    [
      'a type of a session for a key',
      { user: 'alice', type: 'Login' },
      { user: 'alice', type: 'User' },
      'type',
    ],
  ])('%s', (_, spec, stored, field) => {
    expect(fieldIn(spec, stored)).toBe(field);
  });

  it.each<[string, object, object]>([
    ['as it stands', { ...login, ttl: 60, displayName: 'session' }, login],
    ['without content', empty, {}],
    ['without content any more, as it had none', {}, empty],
    ['a type that everyone may give', { type: 'Other' }, { type: 'User' }],
    ['a type that everyone may take', {}, { type: 'User' }],
  ])('untouched: %s', (_, spec, stored) => {
    expect(fieldIn(spec, stored)).toBeUndefined();
  });
});

describe('to set it takes the verb', () => {
  async function require(spec: object, held: boolean, kind = 'OwnedAccessKey') {
    const asked: AccessQuestion[] = [];
    const isAllowed = async (_: unknown, question: AccessQuestion) => {
      asked.push(question);
      return held;
    };
    const request = {
      kind,
      services: { permissions: { isAllowed } },
      sender: { verdict: { ...verdictFor(), record: liveRecord({ name: 'self' }) } },
    } as unknown as OwnRequest;
    const made = requirePlatformFields(request, { metadata: { name: 'mine' }, spec: { ...spec } });
    const refusal = await made.then(
      () => undefined,
      (error: unknown) => (error instanceof Refusal ? error.answer : Promise.reject(error)),
    );
    return { asked, refusal };
  }

  it('manage-platform-fields, on that key', async () => {
    const { asked, refusal } = await require({ parent: 'session' }, true);
    const question = {
      verb: 'manage-platform-fields',
      resource: 'ownedaccesskeys',
      namespace: '',
      name: 'mine',
    };
    expect(asked).toEqual([question]);
    expect(refusal).toBeUndefined();
  });

  it('and without it the answer names the field', async () => {
    const { refusal } = await require({ parent: 'session' }, false);
    expect(refusal).toMatchObject({ status: 403, code: 'ERR_PLATFORM_FIELD' });
  });

  it.each([
    ['a key without such a field', { user: 'alice' }, 'OwnedAccessKey'],
    ['a token', { parent: 'session' }, 'DirectClusterEndpointToken'],
  ])('which is not asked about for %s', async (_, spec, kind) => {
    expect(await require(spec, false, kind)).toEqual({ asked: [], refusal: undefined });
  });
});
