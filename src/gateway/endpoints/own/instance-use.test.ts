import { describe, expect, it } from 'vitest';
import { liveRecord } from '../../../../test/builders/credential-object.ts';
import { verdictFor } from '../../../../test/builders/gateway-stage.ts';
import type { AccessQuestion } from '../../../platform/access-review.ts';
import { errorAnswer } from '../../server/error-answer.ts';
import { Refusal } from '../shared/reply.ts';
import { requireInstanceUse } from './checks.ts';
import type { OwnRequest } from './request.ts';

/** Lists what is asked about a new kubeconfig of alice, who holds some verbs on every instance, and whether it is refused. */
async function ask(held: readonly string[], spec: object, kind = 'VirtualClusterInstanceKubeConfig') {
  const asked: string[] = [];
  const denialOf = async (_: unknown, { verb, namespace, name }: AccessQuestion) => {
    asked.push(`${verb} ${namespace}/${name}`);
    const details = { user: 'alice', verb, object: 'it', note: '' };
    return held.includes(verb) ? undefined : errorAnswer('ERR_TARGET_ENTRY', details);
  };
  const request = {
    kind,
    asked: { namespace: 'p-shop', target: { kind: 'management' }, group: 'management.platform.sh' },
    services: { permissions: { denialOf }, index: { find: () => undefined } },
    sender: { verdict: { ...verdictFor(), record: liveRecord({ name: 'self' }) } },
  } as unknown as OwnRequest;
  const made = requireInstanceUse(request, { metadata: { name: 'own' }, spec: { ...spec } });
  const refusal = await made.then(
    () => undefined,
    (error: unknown) => (error instanceof Refusal ? error.message : Promise.reject(error)),
  );
  return { asked, refused: refusal !== undefined };
}

describe('a new kubeconfig is for those who may use its instance', () => {
  const shop = { virtualClusterInstance: 'shop' };
  it.each<[string, readonly string[], object, { asked: readonly string[]; refused: boolean }]>([
    ['without any verb', [], shop, { asked: ['use p-shop/shop'], refused: true }],
    ['by the name of the object', ['use'], {}, { asked: ['use p-shop/own'], refused: false }],
    ['with use', ['use'], shop, { asked: ['use p-shop/shop'], refused: false }],
    ['with use-as-admin alone', ['use-as-admin'], shop, { asked: ['use p-shop/shop'], refused: true }],
    [
      'with a certificate and use',
      ['use'],
      { ...shop, clientCert: true },
      { asked: ['use p-shop/shop', 'use-as-admin p-shop/shop'], refused: true },
    ],
    [
      'with a certificate and use-as-admin alone',
      ['use-as-admin'],
      { ...shop, clientCert: true },
      { asked: ['use p-shop/shop'], refused: true },
    ],
    [
      'with a certificate and both',
      ['use', 'use-as-admin'],
      { ...shop, clientCert: true },
      { asked: ['use p-shop/shop', 'use-as-admin p-shop/shop'], refused: false },
    ],
    [
      'with no certificate, as it says',
      ['use'],
      { ...shop, clientCert: false },
      { asked: ['use p-shop/shop'], refused: false },
    ],
  ])('%s', async (_, held, spec, expected) => {
    expect(await ask(held, spec)).toEqual(expected);
  });

  it('and nothing is asked about an access key', async () => {
    expect(await ask([], {}, 'OwnedAccessKey')).toEqual({ asked: [], refused: false });
  });
});
