import { describe, expect, it } from 'vitest';
import { TargetRecords } from '../../index/target-records.ts';
import type { EndpointRequest } from '../shared/endpoint.ts';
import { Refusal } from '../shared/reply.ts';
import { answerSpaceQuestion } from './space-question.ts';

const place = { cluster: 'west', uid: 'uid-west', namespace: 'inside' };

/** A platform with some spaces, of which the test says what is confirmed. */
function setUp(confirmed: object = place) {
  const records = new TargetRecords('p-');
  records.clusters.upsert({ key: 'west', name: 'west', uid: 'uid-west' } as never);
  records.projects.upsert({ key: 'p-red', label: 'red', isDeleting: false } as never);
  for (const [name, clusterRef] of Object.entries({ dev: confirmed, other: place })) {
    const space = {
      key: `p-red/${name}`,
      namespace: 'p-red',
      name,
      uid: `uid-${name}`,
      confirmed: { clusterRef },
    };
    records.spaces.upsert(space as never);
  }
  let walks = 0;
  const { values } = records.spaces;
  records.spaces.values = (...none) => {
    walks += 1;
    return values.apply(records.spaces, none);
  };
  const turns: string[] = [];
  const services = {
    targetRecords: records,
    tokens: {
      find: (hash: string) => {
        turns.push('find');
        return hash === 'known' ? { identity: { user: 'alice', groups: [] } } : undefined;
      },
    },
    followingPermissions: { isAllowed: async () => true },
  };
  const ask = async (query: Record<string, string>, cluster = 'west') => {
    let text = '';
    const response = { destroyed: false, writeHead: () => response, end: (body: string) => (text = body) };
    const search = new URLSearchParams({ hash: 'known', namespace: 'p-red', space: 'dev', ...query });
    const request = {
      asked: { name: cluster, forward: `/?${search}` },
      response: Object.assign(response, { req: { headers: {} } }),
      turn: async () => void turns.push('turn'),
    };
    await answerSpaceQuestion(request as unknown as EndpointRequest, services as never);
    return text;
  };
  return { ask, turns, walks: () => walks };
}

const refusalOf = async (answer: Promise<string>): Promise<string | undefined> => {
  const error = await answer.catch((reason: unknown) => reason);
  return error instanceof Refusal ? error.answer.code : undefined;
};

describe('the question whether the user of a token may use a space', () => {
  it('has a yes for a space of the cluster, reads no other space, and waits for its turn', async () => {
    const { ask, turns, walks } = setUp();
    expect(await ask({})).toBe('{"allowed":true}');
    expect([turns, walks()]).toEqual([['turn', 'find'], 0]);
  });

  it.each([
    ['another cluster', { ...place, cluster: 'east' }],
    ['another cluster of the same name', { ...place, uid: 'uid-of-another' }],
    ['no place that is confirmed', {}],
  ])('has a no for a space in %s', async (_, confirmed) => {
    expect(await setUp(confirmed).ask({})).toBe('{"allowed":false}');
  });

  it.each([
    ['that is not there', { space: 'none' }],
    ['of another namespace', { namespace: 'default' }],
    ['without a name', { space: '' }],
  ])('has a no for a space %s', async (_, query) => {
    expect(await setUp().ask(query)).toBe('{"allowed":false}');
  });

  it('has no answer for a token that is not known: a no would count for the other tokens of its user', async () => {
    expect(await refusalOf(setUp().ask({ hash: 'unknown' }))).toBe('ERR_QUERY');
  });

  it('has no answer once the cluster is gone', async () => {
    expect(await refusalOf(setUp().ask({}, 'gone'))).toBe('ERR_TARGET_UNKNOWN');
  });
});
