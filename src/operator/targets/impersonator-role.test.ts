import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { impersonatorRules } from './impersonator-role.ts';

const sessionWith = (version: unknown) => ({
  client: { request: async () => version } as never,
  limits: () => ({ timeoutMs: 1, retries: 0 }),
});
const verbsFor = async (minor: string): Promise<readonly string[]> => {
  const rules = await impersonatorRules(sessionWith({ major: '1', minor }));
  return [...new Set(rules.flatMap(({ verbs }) => verbs as string[]))];
};

describe('impersonatorRules', () => {
  it.each(['36', '36+', '37', '100'])(
    'lets it impersonate only in the constrained form in 1.%s',
    async (minor) => {
      const verbs = await verbsFor(minor);
      expect(verbs).toContain('impersonate:user-info');
      expect(verbs).not.toContain('impersonate');
      expect(verbs.filter((verb) => verb.includes('*'))).toEqual([]);
      expect(verbs.filter((verb) => !/^impersonate(-on)?:user-info(:[a-z]+)?$/.test(verb))).toEqual([]);
    },
  );

  it.each(['35', '35+', '9'])('lets it impersonate in the former form in 1.%s', async (minor) => {
    expect(await verbsFor(minor)).toEqual(['impersonate']);
  });

  it('goes by the version that a newer program works as', async () => {
    const version = { major: '1', minor: '36', emulationMajor: '1', emulationMinor: '35' };
    const rules = await impersonatorRules(sessionWith(version));
    expect(rules.flatMap(({ verbs }) => verbs)).toEqual(['impersonate', 'impersonate']);
  });

  it('names users, groups and our extras, and no ServiceAccounts, nodes and UIDs, in either form', async () => {
    const ours = [
      'userextras/management.platform.sh/access-key',
      'userextras/management.platform.sh/access-key-limited',
    ];
    for (const minor of ['35', '36']) {
      const rules = await impersonatorRules(sessionWith({ major: '1', minor }));
      const named = rules.flatMap(({ resources }) => (resources ?? []) as string[]);
      expect(named.filter((resource) => resource !== '*')).toEqual(['users', 'groups', ...ours]);
    }
  });

  it.each([
    ['36', 'config/direct-endpoint/role.yaml'],
    ['35', 'config/direct-endpoint-older/role.yaml'],
  ])('gives as much in 1.%s as %s gives a direct endpoint', async (minor, file) => {
    const roles = parseAllDocuments(readFileSync(file, 'utf8')).map((each) => each.toJS());
    const { rules } = roles.find(({ kind }) => kind === 'ClusterRole');
    expect(rules).toEqual(await impersonatorRules(sessionWith({ major: '1', minor })));
  });

  it.each([
    ['nothing', undefined],
    ['another kind of object', { kind: 'Status' }],
    ['another major version', { major: '2', minor: '1' }],
    ['a number', { major: '1', minor: 36 }],
    ['no number', { major: '1', minor: 'x36' }],
    ['more than a number', { major: '1', minor: '36-canary' }],
    ['an empty text', { major: '1', minor: '' }],
  ])('refuses a target that says of its version: %s', async (_what, version) => {
    await expect(impersonatorRules(sessionWith(version))).rejects.toMatchObject({
      problem: { reason: 'TargetAnswer', message: expect.not.stringContaining('canary') },
    });
  });
});
