import { describe, expect, it } from 'vitest';
import { LatchkeyError } from '../../errors.ts';
import { badAnswer, kubeErrorFromStatus, timedOut, unreachable } from '../../kube/kube-error.ts';
import { AddressRefused } from './addresses.ts';
import { targetProblemOf, withDialledServer } from './target-problem.ts';
import { toUntrustedServerError } from './untrusted/untrusted-server-error.ts';

const action = { verb: 'GET', path: '/api' };
const status = (code: number) => kubeErrorFromStatus(action, code, { kind: 'Status' });
const broken = (code: string) => unreachable(action, Object.assign(new Error(code), { code }));
const reasonOf = (error: unknown) => targetProblemOf(toUntrustedServerError(action, error))?.reason;

describe('targetProblemOf', () => {
  it.each<readonly [string, Error]>([
    ['TargetUnauthorized', status(401)],
    ['TargetForbidden', status(403)],
    ['TargetAnswer', status(429)],
    ['TargetAnswer', status(500)],
    ['TargetAnswer', status(503)],
    ['TargetAnswer', badAnswer(action, 'not JSON', 200)],
    ['TargetAnswer', badAnswer(action, 'status 302; redirects are not followed', 302)],
    ['TargetUnreachable', timedOut(action, 5_000)],
    ['TargetUnreachable', unreachable(action, new Error('too many requests are waiting'))],
    ...[
      'ENOTFOUND',
      'EAI_AGAIN',
      'ECONNREFUSED',
      'ECONNRESET',
      'UND_ERR_CONNECT_TIMEOUT',
      'UND_ERR_SOCKET',
    ].map((code) => ['TargetUnreachable', broken(code)] as const),
    ...[
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'SELF_SIGNED_CERT_IN_CHAIN',
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
      'CERT_HAS_EXPIRED',
      'CERT_SIGNATURE_FAILURE',
      'INVALID_PURPOSE',
      'ERR_TLS_CERT_ALTNAME_INVALID',
      'ERR_SSL_WRONG_VERSION_NUMBER',
      'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA',
      'EPROTO',
    ].map((code) => ['TargetNotTrusted', broken(code)] as const),
    ...['HPE_INVALID_CONSTANT', 'HPE_HEADER_OVERFLOW', 'UND_ERR_HEADERS_OVERFLOW'].map(
      (code) => ['TargetAnswer', broken(code)] as const,
    ),
  ])('gives %s for %s', (reason, error) => {
    expect(reasonOf(error)).toBe(reason);
  });

  it.each([400, 404, 405, 409, 410, 422])(
    'gives nothing for %i, which is about what was asked for',
    (code) => {
      expect(reasonOf(status(code))).toBeUndefined();
    },
  );

  it('knows that an address was refused, wherever the refusal came from', () => {
    const refusal = new AddressRefused('it is a loopback address');
    const expected = {
      reason: 'AddressRefused',
      message:
        'The address of the target may not be dialled, because it is a loopback address: change the server of the kubeconfig (an instance may name another in spec.server when you create it), or add the address to LATCHKEY_TARGET_ADDRESSES.',
    };
    expect(targetProblemOf(refusal)).toEqual(expected);
    expect(targetProblemOf(toUntrustedServerError(action, unreachable(action, refusal)))).toEqual(expected);
  });

  it.each([
    status(401),
    timedOut(action, 1),
    broken('ECONNREFUSED'),
    new LatchkeyError('ERR_LEADERSHIP_LOST', { action: 'a write' }),
    new Error('x'),
    undefined,
  ])('gives nothing for errors of our own API server, nor for others: %s', (error) => {
    expect(targetProblemOf(error)).toBeUndefined();
  });

  it('ends every message with a fix', () => {
    for (const error of [
      status(401),
      status(403),
      status(500),
      timedOut(action, 1),
      broken('CERT_HAS_EXPIRED'),
    ])
      expect(targetProblemOf(toUntrustedServerError(action, error))?.message).toMatch(/^[A-Z].*: .*\.$/);
  });
});

describe('withDialledServer', () => {
  const source = { namespace: 'p-demo', name: 'vc-shop', key: 'config' };
  const service = 'https://shop.p-demo';
  const silent = { reason: 'TargetUnreachable', message: 'No answer.' } as const;

  it.each([
    [
      'spec.server',
      { server: 'https://10.0.0.1:6443' },
      'https://10.0.0.1:6443',
      '10.0.0.1:6443, from spec.server',
    ],
    ['the Service', { service }, service, 'shop.p-demo, the Service of the virtual cluster'],
    [
      'nothing that stands in the Secret alone',
      { service },
      'https://inside.example.com',
      'the server that the kubeconfig in the Secret p-demo/vc-shop names',
    ],
  ])('says which server does not answer: %s', (_, choice, dialled, expected) => {
    const { message } = withDialledServer(silent, new URL(dialled), { ...source, ...choice });
    expect(message).toBe(`No answer. Latchkey dials ${expected}.`);
  });

  it('adds nothing to what a server answered', () => {
    const answered = { reason: 'TargetForbidden', message: 'No.' } as const;
    expect(withDialledServer(answered, new URL(service), { ...source, service })).toBe(answered);
  });
});
