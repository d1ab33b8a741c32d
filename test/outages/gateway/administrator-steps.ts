import type { Api, Stored } from '../../../lab/operator/api.ts';
import { annotations } from '../../../src/api/names.ts';
import { credentialLocks } from '../../../src/api/resources.ts';
import type { Project } from '../../e2e/kubeconfigs/kubeconfig-world.ts';

/** `line`: verb, reason and decision. */
type Step = readonly [change: string, line: readonly string[], (object: Stored) => Promise<unknown>];

interface Places {
  readonly user: string;
  /** Of the token. */
  readonly parent: Stored;
  readonly project: Project;
}

/** All that an administrator does to a credential of each kind at the API server, and the line of the operator about it. */
export function administratorSteps(
  admin: Api,
  { user, parent, project }: Places,
): readonly (readonly [kind: string, make: () => Promise<Stored>, steps: readonly Step[]])[] {
  const rotated = ['issue', 'Rotated', 'allow'];
  const deleted = ['delete', 'Deleted', 'refuse'];
  const stopped = ['refuse', 'Disabled', 'refuse'];
  const enabled = ['enable', 'Enabled', 'allow'];
  const confirmed = ['confirm', 'Confirmed', 'allow'];
  const issuedAgain = ['issue', 'Confirmed', 'allow'];

  const rotate: Step = [
    'rotated',
    rotated,
    async (object) => await admin.annotate(object, { [annotations.rotate]: '1' }),
  ];
  const lock: Step = [
    'locked',
    ['refuse', 'Locked', 'refuse'],
    async ({ metadata: { name } }) => await admin.create(credentialLocks, { accessKey: { name } }, { name }),
  ];
  const unlock: Step = [
    'unlocked',
    enabled,
    async ({ metadata: { name } }) => await admin.delete({ kind: 'CredentialLock', metadata: { name } }),
  ];
  const remove: Step = ['deleted', deleted, async (object) => await admin.delete(object)];
  const patched = (change: string, line: readonly string[], spec: object): Step => [
    change,
    line,
    async (object) => await admin.patch(object, { spec }),
  ];

  return [
    [
      'a key',
      async () => await admin.createKey({ user }),
      [
        patched('changed', confirmed, { scope: { roles: [{ role: 'platform-cli' }] } }),
        rotate,
        patched('disabled', stopped, { disabled: true }),
        patched('enabled', enabled, { disabled: false }),
        lock,
        unlock,
        remove,
      ],
    ],
    [
      'a token',
      async () => await admin.createToken({ accessKey: parent.metadata.name }),
      [rotate, patched('changed', issuedAgain, { ttl: 900 }), remove],
    ],
    [
      'a kubeconfig',
      async () => await project.create(),
      [rotate, patched('changed', issuedAgain, { certificateTTL: 900 }), remove],
    ],
  ];
}
