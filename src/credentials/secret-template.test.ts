import { describe, expect, it } from 'vitest';
import { credentialObject, recordOf } from '../../test/builders/credential-object.ts';
import { defined } from '../api/json.ts';
import { annotations } from '../api/names.ts';
import { followsLayout, renderCredentialSecret } from './credential-secret.ts';
import { computeFingerprints } from './fingerprint.ts';
import { maxSecretBytes, parseSecretTemplate, renderedBytes } from './secret-template.ts';

const location = { namespace: 'ci', name: 'pipeline', entry: 'key' };
const secretRef = { namespace: 'ci', name: 'pipeline' };
const record = recordOf(credentialObject({ spec: { user: 'alice', secretRef } }));
const content = { serial: 3, credential: 'lk_x', state: { reason: 'Issued' } };
const rendered = (template?: object) => {
  const layout = parseSecretTemplate({ template });
  return renderCredentialSecret(record, location, { ...content, ...defined({ layout }) });
};
const plain = rendered();

/** As JSON brings it, where no name is special. */
const template = JSON.parse(
  '{"labels":{"app":"shop"},"annotations":{"note":"$(credential)"},"entries":{"netrc":"password $(credential), $(credential)","__proto__":"ü"}}',
);

describe('a Secret with a template', () => {
  const secret = rendered(template);

  it('has its labels, annotations and entries besides', () => {
    expect(secret.metadata.labels).toEqual({ app: 'shop', ...plain.metadata.labels });
    expect(secret.metadata.annotations).toEqual({
      note: '$(credential)',
      [annotations.template]: expect.stringMatching(/^[0-9a-f]{64}$/),
      ...plain.metadata.annotations,
    });
    const data = Object.entries(secret.data).map(([name, value]) => [
      name,
      Buffer.from(value, 'base64').toString(),
    ]);
    expect(data).toEqual([
      ['netrc', 'password lk_x, lk_x'],
      ['__proto__', 'ü'],
      ['key', 'lk_x'],
    ]);
  });

  it('keeps what Latchkey knows it by, whatever the template says', () => {
    const own = { ...plain.metadata.labels, ...plain.metadata.annotations };
    const forged = Object.fromEntries(Object.keys(own).map((name) => [name, 'forged']));
    const attack = rendered({ labels: forged, annotations: forged, entries: { key: 'forged' } });
    expect(attack.metadata.labels).toEqual(plain.metadata.labels);
    expect(attack.data).toEqual(plain.data);
    expect(JSON.stringify(attack)).not.toContain('forged');
  });

  it('takes no other name of ours either', () => {
    const names = { 'management.platform.sh/x': 'forged', 'a.management.platform.sh/x': 'forged' };
    expect(JSON.stringify(rendered({ labels: names, annotations: names }))).not.toContain('forged');
  });

  it.each<[string, (secret: typeof plain) => void]>([
    ['a label that somebody changed', ({ metadata }) => Object.assign(metadata.labels, { app: 'other' })],
    [
      'an annotation that somebody took off',
      ({ metadata }) => delete (metadata.annotations as Record<string, string>)['note'],
    ],
    ['an entry that somebody changed', ({ data }) => Object.assign(data, { netrc: 'x' })],
    ['an entry that somebody took out', ({ data }) => delete (data as Record<string, string>)['netrc']],
    [
      'another template',
      ({ metadata }) => Object.assign(metadata.annotations, { [annotations.template]: 'x' }),
    ],
  ])('does not look as asked for with %s', (_, change) => {
    const layout = parseSecretTemplate({ template });
    const changed = structuredClone(secret);
    expect(followsLayout(changed, location, layout)).toBe(true);
    change(changed);
    expect(followsLayout(changed, location, layout)).toBe(false);
  });

  it('looks as asked for with what others added', () => {
    const changed = structuredClone(secret);
    Object.assign(changed.metadata.labels, { theirs: 'x' });
    expect(followsLayout(changed, location, parseSecretTemplate({ template }))).toBe(true);
    expect(followsLayout(changed, location)).toBe(false);
  });
});

describe('the fingerprint', () => {
  it('is the same with every template, so that a change of it makes no other credential', () => {
    const [one] = computeFingerprints({ secretRef });
    expect(computeFingerprints({ secretRef: { ...secretRef, template } })).toEqual([one]);
    expect(computeFingerprints({ secretRef: { ...secretRef, key: 'other', template } })).not.toEqual([one]);
  });
});

describe('the size of a Secret', () => {
  it('counts bytes, and each time that the credential stands there', () => {
    const parsed = parseSecretTemplate({
      template: { entries: { a: 'ü$(credential)$(credential)', b: '' } },
    });
    expect(parsed && renderedBytes(parsed, 'ää')).toBe(4 + 2 + 8);
  });

  it('is known before anything of that size is made', () => {
    const parsed = parseSecretTemplate({ template: { entries: { a: '$(credential)'.repeat(4) } } });
    expect(parsed && renderedBytes(parsed, 'x'.repeat(262_144))).toBeGreaterThan(maxSecretBytes);
  });
});

describe('parseSecretTemplate', () => {
  it.each([undefined, null, 'x', {}, { template: null }, { template: [] }])('finds none in %j', (value) => {
    expect(parseSecretTemplate(value)).toBeUndefined();
  });

  it('leaves out what is no text', () => {
    const parsed = parseSecretTemplate({
      template: { labels: { a: 1, b: 'x' }, annotations: [], entries: null },
    });
    expect(parsed).toEqual({ labels: { b: 'x' }, annotations: {}, entries: {} });
  });
});
