import { describe, expect, it } from 'vitest';
import { SharedValues } from './shared-values.ts';

const scope = (cluster: string) => ({ clusters: [{ cluster }] });
/** Room for a handful of short values in each generation. */
const small = () => new SharedValues(1_000);

describe('SharedValues', () => {
  it('keeps one copy of equal values', () => {
    const values = new SharedValues();
    expect(values.json(scope('east'))).toBe(values.json(scope('east')));
    expect(values.json(scope('east'))).toEqual(scope('east'));
    expect(values.json(scope('west'))).toEqual(scope('west'));
  });

  it.each([[undefined], [null], [7], ['text'], [true]])('leaves %j as it is', (value) => {
    expect(new SharedValues().json(value)).toBe(value);
  });

  it('never confuses a text with the list that it writes out', () => {
    const values = new SharedValues();
    expect(values.text('["a"]')).toBe('["a"]');
    expect(values.json(['a'])).toEqual(['a']);
  });

  it('tells an absent text from an empty one', () => {
    const values = new SharedValues();
    expect(values.text(undefined)).toBeUndefined();
    expect(values.text('')).toBe('');
  });

  it('shares what no one can change, and leaves the value that it was given alone', () => {
    const own = scope('east');
    const kept = new SharedValues().json(own);
    expect(Object.isFrozen(kept.clusters[0])).toBe(true);
    own.clusters[0] = { cluster: 'west' };
    expect(kept).toEqual(scope('east'));
  });

  it('keeps members with the names of what every object has', () => {
    const value = JSON.parse('{"__proto__":{"cluster":"a"},"toJSON":"b","constructor":1}') as object;
    expect(JSON.stringify(new SharedValues().json(value))).toBe(JSON.stringify(value));
  });

  it('forgets what no one asked for since two generations were filled', () => {
    const values = small();
    const first = values.json(scope('east'));
    for (let index = 0; index < 40; index++) values.json(scope(`cluster-${index}`));
    expect(values.json(scope('east'))).not.toBe(first);
    expect(values.json(scope('east'))).toEqual(first);
  });

  it('keeps what is asked for again and again, whatever else comes by', () => {
    const values = small();
    const first = values.json(scope('east'));
    for (let index = 0; index < 40; index++) {
      values.json(scope(`cluster-${index}`));
      expect(values.json(scope('east'))).toBe(first);
    }
  });

  it('never keeps a long value', () => {
    const values = new SharedValues();
    const long = scope('x'.repeat(3_000));
    expect(values.json(long)).toBe(long);
  });

  it('takes what is nested too deep to be written as it is', () => {
    const deep = JSON.parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`) as unknown;
    expect(new SharedValues().json(deep)).toBe(deep);
  });
});
