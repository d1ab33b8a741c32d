import { describe, expect, it } from 'vitest';
import { noSitePolicy, parseSitePolicy } from './site-policy.ts';

const config = 'in the ConfigMap latchkey-system/latchkey-site-policy';
const cannotBeRead = (entry: string) => `because ${entry} ${config} cannot be read; correct it there`;
const isUnknown = (entry: string) =>
  `the strictest value, because ${entry} is unknown ${config}; remove or correct it there`;
const maximum = (data: Record<string, string>, entry: string) => parseSitePolicy({ data }).maxima.get(entry);

describe('the site policy', () => {
  it.each([undefined, {}, { data: {} }, { data: undefined }, { data: null, binaryData: {} }])(
    'asks for nothing without entries: %j',
    (configMap) => {
      expect(parseSitePolicy(configMap)).toEqual(noSitePolicy);
      const { maxima, requireEnd, requireScope, acceptPlainKey, unreadable } = noSitePolicy;
      expect([maxima.size, requireEnd.value, requireScope.value, acceptPlainKey.value]).toEqual([
        ...[0, 'false', 'none', 'true'],
      ]);
      expect(unreadable).toEqual([]);
    },
  );

  it.each([
    ['maxKeyTTL', '600', 600],
    ['maxKeyTTL', '3153600000', 3_153_600_000],
    ['maxKeyTTL.Login', '43200', 43_200],
    ['maxTokenTTL', '86400', 86_400],
    ['maxCertificateTTL', '7200', 7_200],
  ])('has %s of %s seconds', (entry, text, value) => {
    expect(maximum({ [entry]: text }, entry)).toEqual({ value, because: `by ${entry} ${config}` });
    expect(parseSitePolicy({ data: { [entry]: text } }).unreadable).toEqual([]);
  });

  it.each([
    ['maxKeyTTL', 'a year'],
    ['maxKeyTTL', ''],
    ['maxKeyTTL', '0'],
    ['maxKeyTTL', '599'],
    ['maxKeyTTL', '0600'],
    ['maxKeyTTL', '600\n'],
    ['maxKeyTTL', '6e3'],
    ['maxTokenTTL', '-5'],
    ['maxKeyTTL.User', '3153600001'],
    ['maxKeyTTL', '9'.repeat(30)],
    ['maxKeyTTL', '9'.repeat(1_000_000)],
  ])('counts as a day where %s is %j', (entry, text) => {
    expect(maximum({ [entry]: text }, entry)).toEqual({ value: 86_400, because: cannotBeRead(entry) });
    const { unreadable, maxima } = parseSitePolicy({ data: { [entry]: text } });
    expect([unreadable, [...maxima.keys()]]).toEqual([[entry], [entry]]);
  });

  it.each([
    ['requireEnd', 'yes', 'fixed'],
    ['requireEnd', '', 'fixed'],
    ['requireScope', 'keys,tokens', 'all'],
    ['acceptPlainKey', 'False', 'false'],
    ['acceptPlainKey', 'constructor', 'false'],
  ] as const)('has the strictest %s where it is %j', (entry, text, strict) => {
    const policy = parseSitePolicy({ data: { [entry]: text, maxKeyTTL: '3153600000' } });
    expect(policy[entry]).toEqual({ value: strict, because: cannotBeRead(entry) });
    // An entry that can be read is not touched.
    expect(policy.maxima.get('maxKeyTTL')?.value).toBe(3_153_600_000);
    expect([policy.maxima.size, policy.unreadable]).toEqual([1, [entry]]);
  });

  it.each([
    ['an entry that is misspelt', { data: { maxKeyTtl: '600' } }, 'maxKeyTtl'],
    ['a type that is none', { data: { 'maxKeyTTL.user': '600' } }, 'maxKeyTTL.user'],
    ['a name of every object', { data: { constructor: '600' } }, 'constructor'],
    ['bytes', { binaryData: { a: 'AAAA' } }, 'binaryData'],
  ])('has the strictest values for all that is absent beside %s', (_, configMap, name) => {
    const { maxima, requireEnd, requireScope, acceptPlainKey, unreadable } = parseSitePolicy(configMap);
    const because = isUnknown(name);
    expect(maxima.size).toBe(10);
    for (const rule of maxima.values()) expect(rule).toEqual({ value: 86_400, because });
    expect(requireEnd).toEqual({ value: 'fixed', because });
    expect(requireScope).toEqual({ value: 'all', because });
    expect(acceptPlainKey).toEqual({ value: 'false', because });
    expect(unreadable).toEqual([name]);
  });

  it('keeps what can be read beside an entry that is unknown', () => {
    const data = { other: '', requireScope: 'none', requireEnd: 'false', maxKeyTTL: '3153600000' };
    const { maxima, requireEnd, requireScope, acceptPlainKey } = parseSitePolicy({ data });
    expect([requireEnd.value, requireScope.value, maxima.get('maxKeyTTL')?.value]).toEqual([
      ...['false', 'none', 3_153_600_000],
    ]);
    expect(acceptPlainKey.value).toBe('false');
  });

  it('reads 5000 entries at once', () => {
    const data = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`entry-${index}`, '']));
    const { unreadable, requireEnd } = parseSitePolicy({ data });
    expect([unreadable.length, requireEnd.because]).toEqual([5000, isUnknown('entry-0')]);
  });
});
