import { describe, expect, it } from 'vitest';
import { cpuMs } from '../../../../test/fakes/cpu-time.ts';
import { fieldFilter, labelFilter } from './list-options.ts';

const object = {
  metadata: { name: 'ci', labels: { app: 'shop', tier: '', 'example.com/a_b': 'x' } },
  spec: { user: 'alice', disabled: true },
};

describe('a label selector', () => {
  it.each([
    ['', true],
    ['app', true],
    ['!app', false],
    ['none', false],
    ['!none', true],
    ['app=shop', true],
    ['app==shop,tier=', true],
    ['app!=shop', false],
    ['none!=shop', true],
    ['app in (shop, other)', true],
    ['app notin (shop)', false],
    ['none notin (shop)', true],
    ['app in (other),example.com/a_b=x', false],
    ['example.com/a_b = x', true],
    ['app in (a,b,shop),tier notin (a,b)', true],
    ['tier in (a,), app notin (a, shop)', false],
  ])('%j selects the object: %s', (selector, selected) => {
    expect(labelFilter(selector)?.(object)).toBe(selected);
  });

  it.each([
    'app=a b',
    'app in',
    'app in (a',
    'app in (a,b',
    'app in (a,(b)',
    'app)',
    '=',
    'app>1',
    ',',
    'app,',
  ])('%j cannot be read', (selector) => expect(labelFilter(selector)).toBeUndefined());

  it.each([
    ['commas', ','.repeat(100_000)],
    ['names', 'a,'.repeat(100_000)],
    ['lists that do not end', 'a in (b,'.repeat(20_000)],
    ['one long list', `a in (${'b,'.repeat(100_000)})`],
  ])('with %s is read in the time that its length takes', (_, selector) => {
    expect(cpuMs(() => labelFilter(selector))).toBeLessThan(1_000);
  });
});

describe('a field selector', () => {
  const fields = new Set(['metadata.name', 'spec.user', 'spec.disabled', 'spec.team']);
  it.each([
    ['', true],
    ['metadata.name=ci', true],
    ['metadata.name!=ci', false],
    ['spec.user==alice,spec.disabled=true', true],
    ['spec.team=', true],
  ])('%j selects the object: %s', (selector, selected) => {
    expect(fieldFilter(selector, fields)?.(object)).toBe(selected);
  });

  it.each(['spec.key=a', 'metadata.name', 'metadata.name=a\\'])('%j cannot be read', (selector) => {
    expect(fieldFilter(selector, fields)).toBeUndefined();
  });
});
