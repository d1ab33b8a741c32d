import { ownedAccessKeys } from '../../../src/api/resources.ts';
import { describeRows, type Row } from './rows.ts';

const update = (flavour: 'PUT' | 'merge patch' | 'JSON patch' | 'apply' | 'forced apply') =>
  ({ verb: 'update', flavour }) as const;
const alices = { by: 'master', spec: { user: 'alice' } } as const;
const immutable =
  /spec\.user, spec\.team and spec\.subject cannot change; delete the key and create one for the other identity/;

describeRows('an identity that no one gives', [
  {
    who: 'master',
    does: 'makes no key for a component of Kubernetes',
    resource: ownedAccessKeys,
    attempt: { verb: 'create' },
    content: { spec: { user: 'system:kube-scheduler' } },
    answer: [422, /spec\.user/],
  },
  {
    who: 'master',
    does: 'makes a key for somebody else',
    resource: ownedAccessKeys,
    attempt: { verb: 'create', flavour: 'generateName' },
    content: { spec: { user: 'alice' } },
    answer: 'allowed',
  },
  ...(['PUT', 'merge patch', 'JSON patch', 'apply', 'forced apply'] as const).map(
    (flavour): Row => ({
      who: 'master',
      does: `does not hand a key to somebody else by ${flavour}`,
      resource: ownedAccessKeys,
      attempt: update(flavour),
      before: alices,
      content: { spec: { user: 'bob' } },
      answer: flavour === 'apply' ? [409, /conflict/] : [422, immutable],
    }),
  ),
]);
