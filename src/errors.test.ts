import { describe, expect, it } from 'vitest';
import { errorCatalogue } from './error-catalogue.ts';
import { errorMessage, exitCodeOf, fixOf, LatchkeyError } from './errors.ts';

const entries = Object.entries(errorCatalogue);

describe('the error catalogue', () => {
  it.each(entries)('%s has a code, a message and a fix in the house form', (code, { message, fix }) => {
    expect(code).toMatch(/^ERR_[A-Z]+(_[A-Z]+)*$/);
    expect(message).not.toMatch(/[.\s]$/);
    expect(fix).toMatch(/^[A-Z].*\.$/);
  });

  it('says each thing once', () => {
    expect(new Set(entries.map(([, { message }]) => message)).size).toBe(entries.length);
  });
});

describe('LatchkeyError', () => {
  const error = new LatchkeyError(
    'ERR_LISTEN',
    { address: ':8080', purpose: 'metrics', cause: 'EADDRINUSE' },
    { cause: new Error('inner') },
  );

  it('fills the values into the message', () => {
    expect(error.message).toBe('cannot listen on :8080 for metrics: EADDRINUSE');
  });

  it('carries its code, its name and its cause', () => {
    expect(error).toMatchObject({ code: 'ERR_LISTEN', name: 'LatchkeyError', cause: { message: 'inner' } });
  });

  it('takes a value as it is, even when it looks like a placeholder', () => {
    expect(errorMessage('ERR_USAGE', { problem: '{problem} $& {x}' })).toBe('{problem} $& {x}');
  });
});

describe('exitCodeOf and fixOf', () => {
  it('know the errors of the catalogue', () => {
    const error = new LatchkeyError('ERR_SETTINGS_INVALID', { problems: '  X is required' });
    expect(exitCodeOf(error)).toBe(2);
    expect(fixOf(error)).toContain('settings.md');
  });

  it('know other classes that carry a code of the catalogue', () => {
    expect(exitCodeOf(Object.assign(new Error('x'), { code: 'ERR_USAGE' }))).toBe(2);
  });

  it.each([
    new Error('x'),
    Object.assign(new Error('x'), { code: 'ECONNREFUSED' }),
    Object.assign(new Error('x'), { code: 'toString' }),
    'text',
    undefined,
  ])('treat anything else as a failure without advice', (error) => {
    expect(exitCodeOf(error)).toBe(1);
    expect(fixOf(error)).toBeUndefined();
  });
});
