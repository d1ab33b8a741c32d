import { describe, expect, it } from 'vitest';
import { createLogger, type LogOptions } from './log.ts';

function lines(write: (log: ReturnType<typeof createLogger>) => void, options: Partial<LogOptions> = {}) {
  const written: string[] = [];
  write(createLogger({ level: 'debug', output: { write: (line) => void written.push(line) }, ...options }));
  return written.map((line) => JSON.parse(line));
}

describe('createLogger', () => {
  it('writes one JSON line with time, level as a word, message, bindings and keys', () => {
    const [line] = lines((log) => log.info({ kind: 'OwnedAccessKey', name: 'a' }, 'credential issued'), {
      bindings: { component: 'operator' },
    });
    expect(line).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/),
      component: 'operator',
      kind: 'OwnedAccessKey',
      name: 'a',
      msg: 'credential issued',
    });
  });

  it('leaves out what is less severe than the level', () => {
    expect(lines((log) => log.info({}, 'x'), { level: 'warn' })).toEqual([]);
  });

  it.each([
    { authorization: 'secret-value' },
    { headers: { authorization: 'secret-value' } },
    { request: { headers: { authorization: 'secret-value', 'set-cookie': 'secret-value' } } },
    { token: 'secret-value' },
    { status: { token: 'secret-value', kubeConfig: 'secret-value' } },
    { object: { status: { token: 'secret-value' } } },
    { a: { object: { status: { kubeConfig: 'secret-value' } } } },
    { spec: { key: 'secret-value' } },
    {
      object: {
        spec: { key: 'secret-value', connectorData: 'secret-value', oidcLogin: { x: 'secret-value' } },
      },
    },
    { secret: { data: { key: 'secret-value' } } },
    { user: { 'client-key-data': 'secret-value' } },
    { privateKey: 'secret-value' },
    { header: 'Bearer secret-value' },
    { text: '-----BEGIN PRIVATE KEY-----\nsecret-value\n-----END PRIVATE KEY-----' },
  ])('takes the secret out of %j', (keys) => {
    const written = JSON.stringify(lines((log) => log.warn(keys, 'message')));
    expect(written).toContain('[redacted]');
    expect(written).not.toContain('secret-value');
  });

  it('takes secrets out of lists and from any depth, and leaves the object itself alone', () => {
    const keys = { list: [{ a: { b: { c: { token: 'secret-value' } } } }] };
    expect(JSON.stringify(lines((log) => log.info(keys, 'x')))).not.toContain('secret-value');
    expect(JSON.stringify(keys)).toContain('secret-value');
  });

  it('cuts off what is too deep to look through', () => {
    const deep = { a: { b: { c: { d: { e: { f: { g: { token: 'secret-value' } } } } } } } };
    expect(JSON.stringify(lines((log) => log.info(deep, 'x')))).toContain('[too deep]');
  });

  it('takes a secret of known shape out of the message itself', () => {
    const [line] = lines((log) => log.error({}, `got lk_${'a'.repeat(49)}`));
    expect(line.msg).toBe('got [redacted]');
  });

  it('keeps the key of an item of a work queue', () => {
    expect(lines((log) => log.info({ key: 'ns/name' }, 'x'))).toEqual([
      expect.objectContaining({ key: 'ns/name' }),
    ]);
  });

  it.each(['err', 'error'])('describes the error under %s without its other fields', (name) => {
    const error = Object.assign(new Error('no answer'), { code: 'ECONNRESET', config: { password: 'x' } });
    const [line] = lines((log) => log.error({ [name]: error }, 'request failed'));
    expect(line[name]).toEqual({
      type: 'Error',
      message: 'no answer',
      code: 'ECONNRESET',
      stack: expect.any(String),
    });
  });
});
