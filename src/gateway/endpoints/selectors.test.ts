import { describe, expect, it } from 'vitest';
import { fieldFilter, labelFilter } from './selectors.ts';

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
  ])('%j selects the object: %s', (selector, selected) => {
    expect(labelFilter(selector)?.(object)).toBe(selected);
  });

  it.each(['app=a b', 'app in', 'app in (a', '=', 'app>1', ','])('%j cannot be read', (selector) => {
    expect(labelFilter(selector)).toBeUndefined();
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
