import { expect, it } from 'vitest';
import { certificateSubject } from '../../credentials/certificates/subject.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { badAnswer } from '../../kube/kube-error.ts';
import { findStrayBindings } from './stray-bindings.ts';

const uid = '4c5fe1b4-8a3e-4f25-b9a6-9a1d6a4b0c11';
const subjects = [{ kind: 'User', name: certificateSubject(uid, 1) }];

it('holds no more bindings at a time than it can bear, however many there are', async () => {
  let pages = 0;
  const list = async (_: unknown, { limit }: { readonly limit?: number }) => {
    if (limit === undefined) throw badAnswer({ verb: 'GET', path: '/' }, 'too large');
    pages += 1;
    const items = Array.from({ length: limit }, (__, index) => ({
      metadata: { name: `planted-${pages}-${index}`, uid: 'u', resourceVersion: '1' },
      subjects,
    }));
    return { metadata: { continue: 'more', resourceVersion: '1' }, items };
  };
  const client = { list } as unknown as KubeClient;
  const found = await findStrayBindings(client, { uid, live: [] }, () => undefined);
  expect(found).toHaveLength(200);
  expect(pages).toBe(1);
});
