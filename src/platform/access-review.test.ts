import { expect, it } from 'vitest';
import type { KubeClient } from '../kube/client/client.ts';
import { isAllowed } from './access-review.ts';

const question = { verb: 'use', resource: 'virtualclusterinstances', namespace: 'p-red', name: 'shop' };

async function ask(status: unknown): Promise<{ allowed: boolean; asked: unknown }> {
  let asked: unknown;
  const create = async (_resource: unknown, body: unknown) => {
    asked = body;
    return { status };
  };
  const client = { create } as unknown as Pick<KubeClient, 'create'>;
  return { allowed: await isAllowed(client, { user: 'alice', groups: ['dev'] }, question), asked };
}

it('asks for the identity as the API server would see it', async () => {
  const { asked } = await ask({ allowed: true });
  expect(asked).toMatchObject({
    kind: 'SubjectAccessReview',
    spec: {
      user: 'alice',
      groups: ['dev', 'system:authenticated'],
      resourceAttributes: { group: 'management.platform.sh', ...question },
    },
  });
});

it.each([
  ['yes', { allowed: true }, true],
  ['no', { allowed: false }, false],
  ['no in spite of yes', { allowed: true, denied: true }, false],
  ['nothing', undefined, false],
  ['something odd', { allowed: 'true' }, false],
  ['that it could not tell', { allowed: false, evaluationError: 'x' }, false],
])('takes the answer %s for what it is', async (_, status, allowed) => {
  expect((await ask(status)).allowed).toBe(allowed);
});
