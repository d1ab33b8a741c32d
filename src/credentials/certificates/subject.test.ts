import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { certificateSubject, certificateSubjectPrefix, parseCertificateSubject } from './subject.ts';

const uid = '0b9de1c2-4c1f-4f0e-9d5e-2f6c9a8b7d10';
const subject = `management.platform.sh:kubeconfig:${uid}:7`;

describe('certificateSubject', () => {
  it('names the object by its UID, and its serial', () => {
    expect(certificateSubject(uid, 7)).toBe(subject);
    expect(certificateSubjectPrefix(uid)).toBe(`management.platform.sh:kubeconfig:${uid}:`);
  });

  it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])('refuses the serial %d', (serial) => {
    expect(() => certificateSubject(uid, serial)).toThrow(
      new RangeError('the serial of a certificate must be a positive integer'),
    );
  });

  it.each(['', 'a:1', 'A', 'a b', 'a\n', 'ä', 'a,O=system', 'x'.repeat(65)])('refuses the UID %j', (text) => {
    expect(() => certificateSubject(text, 1)).toThrow(RangeError);
    expect(() => certificateSubjectPrefix(text)).toThrow(
      'the UID of a certificate must be 1 to 64 of a-z, 0-9 and "-"',
    );
  });

  it('is never the beginning of the prefix of another object', () => {
    const prefix = certificateSubjectPrefix('a-1');
    expect(certificateSubject('a-1', 12).startsWith(prefix)).toBe(true);
    for (const other of ['a-12', 'a', 'a-1-1']) expect(certificateSubject(other, 1)).not.toContain(prefix);
  });
});

describe('parseCertificateSubject', () => {
  it('reads back what certificateSubject made', () => {
    const uids = fc.oneof(fc.uuid(), fc.stringMatching(/^[0-9a-z-]{1,64}$/));
    fc.assert(
      fc.property(uids, fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), (text, serial) => {
        expect(parseCertificateSubject(certificateSubject(text, serial))).toEqual({ uid: text, serial });
      }),
    );
  });

  it('reads nothing that certificateSubject does not make', () => {
    const parts = [
      'management.platform.sh',
      ':',
      'kubeconfig',
      uid,
      '7',
      '07',
      '+7',
      ' ',
      '\n',
      'x',
      '9'.repeat(17),
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...parts), { maxLength: 9 }), (list) => {
        const parsed = parseCertificateSubject(list.join(''));
        if (parsed !== undefined) expect(certificateSubject(parsed.uid, parsed.serial)).toBe(list.join(''));
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    '',
    uid,
    'management.platform.sh:kubeconfig:',
    `management.platform.sh:kubeconfig:${uid}`,
    `management.platform.sh:kubeconfig:${uid}:`,
    `management.platform.sh:kubeconfig:${uid}:0`,
    `management.platform.sh:kubeconfig:${uid}:07`,
    `management.platform.sh:kubeconfig:${uid}:-7`,
    `management.platform.sh:kubeconfig:${uid}:7.0`,
    `management.platform.sh:kubeconfig:${uid}:1e3`,
    `management.platform.sh:kubeconfig:${uid}:9007199254740993`,
    `management.platform.sh:kubeconfig:${uid}:7:7`,
    `management.platform.sh:kubeconfig::7`,
    `managementXplatform.sh:kubeconfig:${uid}:7`,
    `management.platform.sh:users:${uid}:7`,
    `${subject} `,
    ` ${subject}`,
    `${subject}\n`,
    `x${subject}`,
    subject.toUpperCase(),
  ])('does not read %j', (text) => {
    expect(parseCertificateSubject(text)).toBeUndefined();
  });
});
