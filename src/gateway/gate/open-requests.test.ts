import { expect, it } from 'vitest';
import { verdictFor } from '../../../test/builders/gateway-stage.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { type ResolvedRequest, resolveRequest } from '../../scope/requests/resolve-request.ts';
import type { Verdict } from '../index/verdict.ts';
import { type OpenRequest, OpenRequests, shareOf } from './open-requests.ts';

const target = '/kubernetes/management/api/v1/namespaces/p-red/configmaps?watch=true';
const asked = resolveRequest({ method: 'GET', target, contentType: undefined }) as ResolvedRequest;

/** One watch under way. Its scope counts how often it is asked. */
function start() {
  const clock = new FakeClock();
  const state = { asked: 0, allows: true, projects: 0, cut: 0, scopes: 'one' };
  const entry = {
    reaches: () => true,
    allows: () => {
      state.asked += 1;
      return state.allows;
    },
    isWhole: false,
    names: () => true,
  };
  const verdict = (): Verdict => ({
    ...verdictFor(),
    scopes: state.scopes,
    gates: [{ entries: [entry], warnings: [] }],
  });
  const open = new OpenRequests({
    clock,
    find: verdict,
    problem: () => undefined,
    findTarget: () => ({ uids: '', isPlatform: true }),
    projectsVersion: () => state.projects,
    permissions: { mayStay: () => true },
    limits: { ofCredential: { short: 1, long: 1 }, ofUser: { short: 1, long: 1 } },
  });
  const { identity, impersonation, scopes } = verdict();
  const request: OpenRequest = {
    ...{ identity, share: identity.user, impersonation, scopes, asked, targetUIDs: '', isLong: true },
    cut: () => {
      state.cut += 1;
    },
  };
  expect(open.enter('hash', request)).toBeUndefined();
  /** One that is over at once. */
  const send = (user: string) => {
    const short = { ...request, share: user, isLong: false };
    expect(open.enter('another', short)).toBeUndefined();
    open.leave('another', short);
  };
  return { state, open, request, clock, send, sweep: () => clock.advance(500) };
}

it('the scope of what is under way is asked again only when something changed that it rests on', () => {
  const { state, open, sweep } = start();
  for (let count = 0; count < 5; count++) sweep();
  open.recheck('hash');
  expect(state.asked).toBe(0);
  state.scopes = 'two';
  open.recheck('hash');
  sweep();
  expect(state.asked).toBe(1);
  state.projects += 1;
  sweep();
  sweep();
  expect([state.asked, state.cut]).toEqual([2, 0]);
});

it.each<[string, (state: ReturnType<typeof start>['state']) => void]>([
  ['its scope changed', (state) => Object.assign(state, { scopes: 'two' })],
  ['a namespace is no project any more', (state) => Object.assign(state, { projects: 1 })],
])('it is cut within half a second when %s and it is no longer allowed', (_, change) => {
  const { state, sweep } = start();
  state.allows = false;
  change(state);
  sweep();
  expect(state.cut).toBe(1);
});

it('it is cut at once when a target or a right has gone that it rests on, and others with the same credential are not looked at', () => {
  const { state, open, request, clock } = start();
  const elsewhere = {
    ...request,
    ...{ identity: { ...request.identity, user: 'bob' }, targetUIDs: 'cluster space', isLong: false },
  };
  expect(open.enter('hash', elsewhere)).toBeUndefined();
  Object.assign(state, { allows: false, scopes: 'two' });
  for (let count = 0; count < 5; count++) open.recheckFor({ targetUID: 'another' });
  clock.advance(1);
  expect([state.asked, state.cut]).toEqual([0, 0]);
  open.recheckFor({ user: 'alice' });
  clock.advance(1);
  expect([state.asked, state.cut]).toEqual([1, 1]);
  open.recheckFor({ targetUID: 'space' });
  clock.advance(1);
  expect(state.cut).toBe(2);
});

it('who has sent all that came in the last second, requests and input of sessions, is alone', () => {
  const { open, clock, send } = start();
  expect([open.isAlone('alice'), open.isAlone('mallory')]).toEqual([true, false]);
  send('mallory');
  expect([open.isAlone('alice'), open.isAlone('mallory'), open.isAlone('bob')]).toEqual([
    false,
    false,
    false,
  ]);
  clock.advance(900);
  send('mallory');
  send('mallory');
  expect(open.isAlone('mallory')).toBe(false);
  clock.advance(200);
  expect([open.isAlone('mallory'), open.isAlone('alice')]).toEqual([true, false]);
  open.seen('alice');
  expect(open.isAlone('mallory')).toBe(false);
  clock.advance(1_100);
  expect(open.isAlone('mallory')).toBe(true);
});

const agentOf = (user: string, cluster: string) =>
  shareOf(verdictFor({ roles: [{ role: 'agent' }], clusters: [{ cluster }] }, user));

it('all agents of a user have one share, apart from the rest of that user and from those of others', () => {
  const rest = shareOf(verdictFor({}, 'ann'));
  expect(rest).toBe('ann');
  expect(agentOf('ann', 'west')).toBe(agentOf('ann', 'east'));
  expect(new Set([agentOf('ann', 'west'), agentOf('bob', 'west'), rest]).size).toBe(3);
});
