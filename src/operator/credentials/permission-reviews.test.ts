import { beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { PermissionReviews } from './permission-reviews.ts';
import type { Review } from './review.ts';

interface SentReview {
  readonly spec: {
    readonly user: string;
    readonly resourceAttributes: { readonly verb: string; readonly name: string };
  };
}

let allowed: (name: string) => boolean | Error;
let sent: SentReview['spec'][];
let namespaceUID: string | undefined;
let clock: FakeClock;
let reviews: PermissionReviews;

beforeEach(() => {
  allowed = () => true;
  sent = [];
  namespaceUID = 'uid-1';
  clock = new FakeClock(0);
  const client = {
    create: async (_: unknown, { spec }: SentReview) => {
      sent.push(spec);
      const answer = allowed(spec.resourceAttributes.name);
      if (answer instanceof Error) throw answer;
      return { status: { allowed: answer } };
    },
    get: async () => {
      if (namespaceUID !== undefined) return { metadata: { uid: namespaceUID } };
      throw new KubeError({ code: 'ERR_KUBE_STATUS', message: 'none', status: 404, reason: 'NotFound' });
    },
  };
  reviews = new PermissionReviews({ client: client as never, clock, random: () => 0.5 });
});

const alice = { user: 'alice', groups: ['dev'] };
const impersonate = (name: string) => ({ group: '', verb: 'impersonate', resource: 'groups', name });
const review: Review = { asker: alice, questions: [impersonate('ops'), impersonate('admins')] };
const object = { uid: 'uid-of-the-key' };

describe('a review of permissions', () => {
  it('asks all questions about the one who asked', async () => {
    expect(await reviews.ask(object, review)).toBeUndefined();
    expect(sent.map(({ user, resourceAttributes }) => [user, resourceAttributes.name])).toEqual([
      ['alice', 'ops'],
      ['alice', 'admins'],
    ]);
  });

  it('names what is missing, and asks again only after some time', async () => {
    allowed = (name) => name !== 'admins';
    const denied = await reviews.ask(object, review);
    expect(denied?.refusal).toEqual({
      reason: 'RequesterNotPermitted',
      message:
        'User "alice" needs the verb "impersonate" on groups/admins: grant it, or let someone who has it create this object.',
      final: false,
    });
    expect(await reviews.ask(object, review)).toMatchObject({ refusal: denied?.refusal });
    expect(sent).toHaveLength(2);
    clock.advance(denied?.waitMs ?? 0);
    allowed = () => true;
    expect(await reviews.ask(object, review)).toBeUndefined();
  });

  it('asks again what was denied before anything else: who may never have it costs one question a time', async () => {
    allowed = (name) => name !== 'admins';
    const denied = await reviews.ask(object, review);
    clock.advance(denied?.waitMs ?? 0);
    sent.length = 0;
    expect(await reviews.ask(object, review)).toMatchObject({ refusal: denied?.refusal });
    expect(sent.map(({ resourceAttributes }) => resourceAttributes.name)).toEqual(['admins']);
  });

  it('asks at once about another spec', async () => {
    allowed = () => false;
    await reviews.ask(object, review);
    allowed = () => true;
    expect(await reviews.ask(object, { ...review, questions: [impersonate('ops')] })).toBeUndefined();
  });

  it('does not take an error for a no', async () => {
    allowed = () => new Error('away');
    await expect(reviews.ask(object, review)).rejects.toThrow('away');
  });
});

describe('a review of an invitation', () => {
  const invited = { asker: alice, questions: [], invitation: { namespace: 'shop', uid: 'uid-1' } };

  it('holds in the same namespace, without a question', async () => {
    expect(await reviews.ask(object, invited)).toBeUndefined();
    expect(sent).toEqual([]);
  });

  it.each([['another'], [undefined]])('holds in no other (%s)', async (uid) => {
    namespaceUID = uid;
    expect(await reviews.ask(object, invited)).toMatchObject({
      refusal: { reason: 'AccessKeyNotAllowed', final: true },
    });
  });

  it('leaves what the one who asked may do without it', async () => {
    namespaceUID = 'another';
    const otherwise = [impersonate('ops')];
    const own = { ...invited, invitation: { ...invited.invitation, otherwise } };
    expect(await reviews.ask(object, own)).toBeUndefined();
    allowed = () => false;
    expect(await reviews.ask({ uid: 'b' }, own)).toMatchObject({
      refusal: { reason: 'RequesterNotPermitted' },
    });
  });
});
