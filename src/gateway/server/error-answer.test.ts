import { describe, expect, it } from 'vitest';
import { errorAnswer } from './error-answer.ts';
import { warningOf } from './warning.ts';

describe('a refusal', () => {
  it('says the same in its Status and in a warning: kubectl shows nothing of a Status while it finds out what there is', () => {
    const { body, headers } = errorAnswer('ERR_TARGET_ENTRY', {
      ...{ user: 'alice', verb: 'use', object: 'clusters/a', note: '' },
    });
    const { message } = JSON.parse(body) as { message: string };
    expect(message).toMatch(/^User "alice" needs the verb "use" on clusters\/a/);
    expect(headers[headers.indexOf('warning') + 1]).toBe(warningOf(message));
  });
});

describe('a warning', () => {
  it('is quoted, and carries nothing that would begin another header', () => {
    expect(warningOf('unknown field "a\\"')).toBe('299 - "unknown field \\"a\\\\\\""');
    expect(warningOf('b\r\nSet-Cookie: \u00e4')).toBe('299 - "b  Set-Cookie:  "');
  });

  it('is cut where it would be too long for the headers of an answer', () => {
    expect(warningOf('a'.repeat(100_000))).toHaveLength(1_024 + '299 - ""'.length);
  });
});
