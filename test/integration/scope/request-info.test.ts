import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Guard } from '../../../lab/controlplane/guard.ts';
import { ApiServerOriginal } from '../../apiserver/apiserver.ts';
import { compareRequests } from '../../apiserver/compare-requests.ts';
import { compareYAML } from '../../apiserver/compare-yaml.ts';
import { generateYAML } from '../../apiserver/generated-yaml.ts';

let guard: Guard;
let original: ApiServerOriginal;

beforeAll(async () => {
  guard = await Guard.start('request-info');
  original = await ApiServerOriginal.build(guard.folder);
});

afterAll(() => guard?.stop());

describe('a resolved request', () => {
  it('means to the API server what it means here', async () => {
    const { compared, refused, differences } = await compareRequests(original, { seed: 1, count: 100_000 });
    expect(differences).toEqual([]);
    expect(compared).toBeGreaterThan(80_000);
    const sum = Object.values(refused).reduce((total, times) => total + times, 0);
    expect(compared + sum).toBe(100_000);
    expect(Object.keys(refused).sort()).toMatchInlineSnapshot(`
      [
        "Character",
        "Dots",
        "EmptySegment",
        "EncodedControl",
        "EncodedLetter",
        "EncodedSlash",
        "Encoding",
        "ListOptions",
        "Method",
        "NoResource",
        "NoTarget",
        "PercentSign",
        "QueryCharacter",
      ]
    `);
  });
});

/** As people write manifests of ours. */
const manifest = (spec: string) =>
  `apiVersion: management.platform.sh/v1\nkind: OwnedAccessKey\nmetadata: {name: ci}\nspec: {${spec}}\n`;
const written = [
  ...['ttl: 10:00', 'displayName: 22:30', 'ttl: 24h', 'ttl: 1h', 'ttl: PT1H', 'ttl: 3600.0', 'ttl: 0_'],
  ...['ttl: 1_000', 'ttl: 0600', 'ttl: "86400"', 'ttl: null', 'ttl: ~', 'ttl: -1', 'ttl: +600', 'ttl: 0x10'],
  ...['ttl: 1e3', 'ttl: 1e400', 'ttl: 2026-12-31', 'disabled: yes', 'disabled: "true"', 'disabled: on'],
  ...['disabled: Y', 'type: n', 'type: user', 'scope: {}', 'scope: ~', 'scopes: {}'],
  ...['scope: {projects: [demo]}', 'scope: {projects: [{name: demo}]}', 'scope: {clusters: [{cluster: eu}]}'],
  ...[
    'user: alice@example.com',
    'user: jürgen',
    'displayName: "Schlüssel 🔑 für 東京", description: "a\\nb\\t\\"c\\""',
  ],
  ...['server: "https://[2001:db8::10]:6443"', 'server: shop.example.com', 'server: https://a.b:6443/'],
].map(manifest);

describe('a body in YAML', () => {
  it('means to the API server what it means here, or is refused here for a known reason', async () => {
    const texts = [...generateYAML(1, 20_000)];
    const { same, refused, stricter, differences } = await compareYAML(original, texts);
    expect(differences).toEqual([]);
    expect(same).toBeGreaterThan(6_000);
    expect(refused).toBeGreaterThan(6_000);
    expect(Object.keys(stricter).sort()).toMatchInlineSnapshot(`
      [
        "a block of text says its indentation",
        "a key is no text: put it in quotes",
        "a line of it begins with %",
        "a tab stands where a line begins",
        "between brackets, a text needs quotes, one line, or a space behind it",
        "it has a character that YAML does not have, or that breaks a line",
        "it has a number that is infinite, or whole and beyond 2^53: only roughly would it go on",
        "it has a tag other than !!str",
        "it holds more than one document",
        "it is no YAML",
        "it is not one object",
        "it merges maps",
        "its last line has no end",
      ]
    `);
  });

  it('is read as people write it, with either end of a line and a byte order mark', async () => {
    const texts = ['', '\ufeff', '# note\n'].flatMap((begin) =>
      written.flatMap((text) => [begin + text, begin + text.replaceAll('\n', '\r\n')]),
    );
    const { same, differences } = await compareYAML(original, texts);
    expect(differences).toEqual([]);
    expect(same).toBe(texts.length);
  });

  it.each([
    ['a number without an end', 'a: .inf'],
    ['a byte that is no UTF-8', Buffer.from([0x61, 0x3a, 0x20, 0xff])],
    ['a control character', 'a: "\u0007"'],
    ['a surrogate in an escape', '{"a": "\\ud83d\\ude00"}'],
  ])('with %s is refused by both', async (_, text) => {
    expect(await compareYAML(original, [text])).toMatchObject({ refused: 1, differences: [] });
  });
});
