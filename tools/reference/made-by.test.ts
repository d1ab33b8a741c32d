import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { annotations } from '../../src/api/names.ts';
import { readDocument, sectionOf } from './document.ts';

/** The program of the page that lists what was made with a key. */
const [, program = ''] =
  /made-by\.jq <<'EOF'\n([\s\S]+?)\nEOF\n/.exec(
    sectionOf(readDocument('docs/guide/child-keys.md'), 'After a leak'),
  ) ?? [];

interface Parts {
  readonly kind?: string;
  readonly namespace?: string;
  /** Its parent. */
  readonly below?: string;
  readonly createdWith?: string;
}

/** An object of which the UID follows from the name. */
const object = (name: string, { kind = 'OwnedAccessKey', namespace, below, createdWith }: Parts = {}) => ({
  kind,
  metadata: {
    name,
    namespace,
    uid: `uid-of-${name}`,
    ...(createdWith && {
      annotations: { [annotations.createdWith]: `${createdWith}/uid-of-${createdWith}` },
    }),
  },
  spec: below === undefined ? {} : { accessKey: below },
  status: below === undefined ? {} : { accessKeyUID: `uid-of-${below}` },
});

/** Each is younger than the one before. */
const items = [
  object('other'),
  object('leaked', { createdWith: 'other' }),
  object('child', { below: 'leaked', createdWith: 'leaked' }),
  object('free', { createdWith: 'leaked' }),
  object('of-other', { below: 'other' }),
  object('grandchild', { kind: 'DirectClusterEndpointToken', below: 'child' }),
  object('below-free', {
    ...{ kind: 'VirtualClusterInstanceKubeConfig', namespace: 'p-demo' },
    ...{ below: 'free', createdWith: 'free' },
  }),
].map((made, index) => ({
  ...made,
  metadata: { ...made.metadata, creationTimestamp: `2026-01-01T00:0${index}:00Z` },
}));

it('after a leak the page lists the key, then all that was made with it, at every level and once, and nothing else', () => {
  const said = execFileSync('jq', ['-r', '--arg', 'key', 'leaked', program], {
    input: JSON.stringify({ items }),
    encoding: 'utf8',
  });
  expect(said.trim().split('\n')).toEqual([
    'OwnedAccessKey - leaked -',
    'OwnedAccessKey - child leaked',
    'OwnedAccessKey - free -',
    'DirectClusterEndpointToken - grandchild child',
    'VirtualClusterInstanceKubeConfig p-demo below-free free',
  ]);
});
