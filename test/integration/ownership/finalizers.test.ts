import { finalizers } from '../../../src/api/names.ts';
import {
  directClusterEndpointTokens,
  ownedAccessKeys,
  virtualClusterInstanceKubeConfigs,
} from '../../../src/api/resources.ts';
import { describeRows, type Flavour, type Row } from './rows.ts';

const theirs = 'example.com/theirs';
const kinds = [
  [ownedAccessKeys, { by: 'alice', spec: { user: 'alice' }, metadata: { finalizers: [theirs] } }],
  [directClusterEndpointTokens, { by: 'alice', spec: {}, metadata: { finalizers: [theirs] } }],
  [
    virtualClusterInstanceKubeConfigs,
    { by: 'alice', spec: { virtualClusterInstance: 'usable' }, metadata: { finalizers: [theirs] } },
  ],
] as const;
/** An applied empty list takes away nothing that another manager owns. */
const flavours: readonly Flavour[] = ['PUT', 'merge patch', 'JSON patch'];
const update = (flavour: Flavour) => ({ verb: 'update', flavour }) as const;
const without = (...kept: readonly string[]) => ({ metadata: { finalizers: kept } });

describeRows(
  'finalizers of a credential that is not theirs',
  kinds.flatMap(([resource, before]): Row[] => {
    const ours = finalizers[resource.kind as keyof typeof finalizers];
    const row = { resource, before };
    const dying = { resource, before: { ...before, deleting: true } };
    const what = `a ${resource.kind}`;
    return [
      ...flavours.map(
        (flavour): Row => ({
          ...row,
          who: 'root',
          does: `takes none off ${what} ahead of its delete by ${flavour}`,
          attempt: update(flavour),
          content: without(ours),
          answer: 'not theirs',
        }),
      ),
      {
        ...row,
        who: 'mallory',
        does: `takes none off ${what} ahead of its delete`,
        attempt: update('PUT'),
        content: without(),
        answer: 'not theirs',
      },
      {
        ...row,
        who: 'warden',
        does: `adds none to ${what}, which would outlive its delete`,
        attempt: update('JSON patch'),
        content: without(ours, theirs, 'example.com/mine'),
        answer: 'not theirs',
      },
      {
        ...dying,
        who: 'mallory',
        does: `takes none off ${what} that is being deleted, because the answer would show it`,
        attempt: update('PUT'),
        content: without(),
        answer: 'not theirs',
      },
      ...flavours.flatMap((flavour): Row[] => [
        {
          ...dying,
          who: 'root',
          does: `takes one off ${what} that is being deleted by ${flavour}`,
          attempt: update(flavour),
          content: without(ours),
          answer: 'allowed',
        },
        {
          ...dying,
          who: 'root',
          does: `takes all off ${what} that is being deleted by ${flavour}`,
          attempt: update(flavour),
          content: without(),
          answer: 'allowed',
        },
      ]),
      {
        ...dying,
        who: 'warden',
        does: `takes all off ${what} that is being deleted`,
        attempt: update('merge patch'),
        content: without(),
        answer: 'allowed',
      },
      {
        ...dying,
        who: 'root',
        does: `takes one off ${what} that is being deleted and changes it, and is refused`,
        attempt: update('merge patch'),
        content: { metadata: { finalizers: [ours], annotations: { note: 'x' } } },
        answer: 'not theirs',
      },
      {
        ...dying,
        who: 'root',
        does: `adds one to ${what} that is being deleted, and is refused`,
        attempt: update('merge patch'),
        content: without(ours, theirs, 'example.com/mine'),
        answer: [422, /no new finalizers can be added if the object is being deleted/],
      },
      {
        ...dying,
        who: 'alice',
        does: `takes all off ${what} of hers that is being deleted`,
        attempt: update('PUT'),
        content: without(),
        answer: 'allowed',
      },
    ];
  }),
);
