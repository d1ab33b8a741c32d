import { finalizers } from '../../../src/api/names.ts';
import {
  directClusterEndpointTokens,
  ownedAccessKeys,
  virtualClusterInstanceKubeConfigs,
} from '../../../src/api/resources.ts';
import { type Content, describeRows } from './rows.ts';
import { changes } from './shorthand.ts';

const theirs = 'example.com/theirs';
const kinds = [
  [ownedAccessKeys, { user: 'alice' }],
  [directClusterEndpointTokens, {}],
  [virtualClusterInstanceKubeConfigs, { virtualClusterInstance: 'usable' }],
] as const;
/** An applied empty list takes away nothing that another manager owns. */
const ways = ['PUT', 'merge patch', 'JSON patch'] as const;
const leaving = (...kept: readonly string[]): Content => ({ metadata: { finalizers: kept } });
const none = leaving();
const noNew = [422, /no new finalizers can be added if the object is being deleted/] as const;

describeRows(
  'finalizers of a credential that is not theirs',
  kinds.flatMap(([resource, spec]) => {
    const [of, ours] = [`a ${resource.kind}`, finalizers[resource.kind as keyof typeof finalizers]];
    const [onlyOurs, more] = [leaving(ours), leaving(ours, theirs, 'example.com/mine')];
    const noted: Content = { metadata: { finalizers: [ours], annotations: { note: 'x' } } };
    const before = { by: 'alice', spec, metadata: { finalizers: [theirs] } } as const;
    return [
      ...changes(resource, before, [
        ['root', ways, `takes none off ${of} ahead of its delete`, onlyOurs, 'not theirs'],
        ['mallory', 'PUT', `takes none off ${of} ahead of its delete`, none, 'not theirs'],
        ['warden', 'JSON patch', `adds none to ${of}, which would outlive its delete`, more, 'not theirs'],
      ]),
      ...changes(resource, { ...before, deleting: true }, [
        ['mallory', 'PUT', `takes none off ${of} that goes, as the answer shows it`, none, 'not theirs'],
        ['root', ways, `takes one off ${of} that is being deleted`, onlyOurs, 'allowed'],
        ['root', ways, `takes all off ${of} that is being deleted`, none, 'allowed'],
        ['warden', 'merge patch', `takes all off ${of} that is being deleted`, none, 'allowed'],
        [
          'root',
          'merge patch',
          `takes one off ${of} that goes and changes nothing else`,
          noted,
          'not theirs',
        ],
        ['root', 'merge patch', `adds none to ${of} that is being deleted`, more, noNew],
        ['alice', 'PUT', `takes all off ${of} of hers that is being deleted`, none, 'allowed'],
      ]),
    ];
  }),
);
