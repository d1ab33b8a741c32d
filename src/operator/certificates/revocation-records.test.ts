import { expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import { renderRevocation, toRevocationRecord } from './revocation-records.ts';

const revocation = {
  ownerUID: 'uid-1',
  instance: { namespace: 'p-red', name: 'shop', uid: 'uid-2' },
  secret: { namespace: 'p-red', name: 'vc-shop', key: 'config' },
  caFingerprint: 'abcdef0123456789',
  serials: [3, 12],
  notAfter: Date.UTC(2026, 10, 22),
};
const rendered = renderRevocation(revocation);
const stored = (data: object = rendered.data): KubeObject =>
  ({ ...rendered, metadata: { ...rendered.metadata, uid: 'u', resourceVersion: '7' }, data }) as never;

it('says what the record said', () => {
  expect(toRevocationRecord(stored())).toEqual({
    ...revocation,
    key: 'latchkey-system/latchkey-revocation-uid-1-abcdef012345',
    name: 'latchkey-revocation-uid-1-abcdef012345',
    uid: 'u',
    resourceVersion: '7',
    readable: true,
  });
});

it('says which server was dialled in place of the one in the kubeconfig', () => {
  const choice = { server: 'https://shop.example.com', service: 'https://shop.p-red' };
  const secret = { ...revocation.secret, ...choice };
  const { data } = renderRevocation({ ...revocation, secret });
  expect(toRevocationRecord(stored(data)).secret).toEqual(secret);
});

it.each([
  ['without data', {}],
  ['without the authority', { ...rendered.data, authority: '' }],
  ['without the UID', { ...rendered.data, uid: '' }],
  ['without the place of the Secret', { ...rendered.data, secretName: undefined }],
])('is kept and not readable %s', (_, data) => {
  expect(toRevocationRecord(stored(data)).readable).toBe(false);
});

it.each([['tomorrow'], [undefined], ['+010000-01-01T00:14:59.000Z']])(
  'is due until it is done with the end %s, which cannot be read',
  (notAfter) => {
    const record = toRevocationRecord(stored({ ...rendered.data, notAfter }));
    expect(record).toMatchObject({ readable: true, notAfter: Number.POSITIVE_INFINITY });
  },
);

it('can be read when the certificate ends with the last second that its form can hold', () => {
  const last = Date.parse('9999-12-31T23:59:59Z');
  const { data } = renderRevocation({ ...revocation, notAfter: last + 900_000 });
  expect(toRevocationRecord(stored(data))).toMatchObject({ readable: true, notAfter: last });
});

it('leaves out what is no serial', () => {
  const data = { ...rendered.data, serials: '1,,-2,x,4.5,0,9' };
  expect(toRevocationRecord(stored(data)).serials).toEqual([1, 9]);
});
