import { describe, expect, it } from 'vitest';
import { LatchkeyError } from '../errors.ts';
import { commonSettingDefinitions } from './common.ts';
import { allOperatorSettings } from './operator.ts';
import { type Environment, readSettings, unknownSettings } from './read.ts';
import { removedSettings } from './removed.ts';

const required: Environment = { LATCHKEY_BASE_URL: 'https://latchkey.example.com' };

const read = (changes: Environment = {}) => readSettings(allOperatorSettings, { ...required, ...changes });

function problemsOf(environment: Environment): string[] {
  try {
    readSettings(allOperatorSettings, environment);
  } catch (error) {
    expect(error).toBeInstanceOf(LatchkeyError);
    expect(error).toMatchObject({ code: 'ERR_SETTINGS_INVALID' });
    return (error as Error).message.split('\n').slice(1);
  }
  return [];
}

describe('readSettings', () => {
  it('needs only the base URL; everything else has a default', () => {
    expect(read()).toEqual({
      baseURL: 'https://latchkey.example.com',
      logLevel: 'info',
      healthAddress: { port: 8081 },
      metricsAddress: { port: 8080 },
      leaseDurationMs: 15_000,
      maxObjectsPerOwner: 1_000,
      audit: 'off',
      auditLog: '-',
      activityIntervalMs: 60_000,
      rotationOverlapMs: 600_000,
      expiredRetentionMs: 3_600_000,
      signingKeyRotationMs: 2_592_000_000,
      maxTokenTTLSeconds: 7_776_000,
      expiryWritesPerSecond: 100,
      maxKubeConfigTTLSeconds: 31_536_000,
      targetAddresses: ['0.0.0.0/0', '::/0'],
      targetRecheckMs: 60_000,
      baseURLCA: 'auto',
      finalizerLimitMs: 60_000,
      projectNamespacePrefix: 'p-',
    });
  });

  it('reads for each command what that command knows', () => {
    const environment = { ...required, LATCHKEY_EXPIRY_WRITES_PER_SECOND: 'many' };
    expect(Object.keys(readSettings(commonSettingDefinitions, environment))).toEqual(
      Object.keys(commonSettingDefinitions),
    );
    expect(problemsOf(environment)).toEqual([
      '  LATCHKEY_EXPIRY_WRITES_PER_SECOND must be a whole number from 1 to 10000',
    ]);
  });

  it('takes what the environment says over a default', () => {
    const settings = read({ LATCHKEY_EXPIRY_WRITES_PER_SECOND: '3', LATCHKEY_LOG_LEVEL: 'debug' });
    expect(settings).toMatchObject({ expiryWritesPerSecond: 3, logLevel: 'debug' });
  });

  it('reports every problem at once, each with the variable and the fix', () => {
    const environment = {
      LATCHKEY_EXPIRY_WRITES_PER_SECOND: '0',
      LATCHKEY_ROTATION_OVERLAP: '10',
      LATCHKEY_LOG_LEVEL: 'loud',
    };
    expect(problemsOf(environment)).toEqual([
      '  LATCHKEY_BASE_URL is required: set it to a value (https URL without trailing slash)',
      '  LATCHKEY_LOG_LEVEL must be one of trace, debug, info, warn, error, fatal',
      '  LATCHKEY_ROTATION_OVERLAP is no duration: write it like 30s, 10m, 720h or 30d',
      '  LATCHKEY_EXPIRY_WRITES_PER_SECOND must be a whole number from 1 to 10000',
    ]);
  });

  it.each(Object.values(allOperatorSettings))('refuses an empty $name', ({ name }) => {
    expect(problemsOf({ ...required, [name]: '' })).toEqual([
      `  ${name} is set but empty: give it a value or remove it`,
    ]);
  });

  it('never repeats a refused value, which may be a password', () => {
    const [problem] = problemsOf({ LATCHKEY_BASE_URL: 'https://admin:hunter2@latchkey.example.com' });
    expect(problem).toContain('must not hold a user name or password');
    expect(problem).not.toContain('hunter2');
  });

  it('has a usable default wherever it has one', () => {
    for (const { name, type, default: value } of Object.values(allOperatorSettings).filter(
      (one) => 'default' in one,
    )) {
      expect(type.parse(value ?? ''), name).toHaveProperty('value');
    }
  });
});

describe('a variable that looks like a setting and is none', () => {
  it.each([
    ['LATCHKEY_LOG_LEVL', 'LATCHKEY_LOG_LEVEL'],
    ['LATCHKEY_LOGLEVEL', 'LATCHKEY_LOG_LEVEL'],
    ['LATCHKEY_MAX_TOKENS_TTL', 'LATCHKEY_MAX_TOKEN_TTL'],
    ['LATCHKEY_TLS_FOLDR', 'LATCHKEY_TLS_FOLDER'],
    ['LATCHKEY_base_url', 'LATCHKEY_BASE_URL'],
  ])('%s is refused, and the nearest setting of any command is named', (name, nearest) => {
    expect(problemsOf({ ...required, [name]: 'secret' })).toEqual([
      `  ${name} is no setting: correct it to ${nearest}, which is the nearest, or remove it`,
    ]);
  });

  it.each(Object.entries(removedSettings))(
    '%s of an earlier build is refused with its replacement',
    (name, instead) => {
      expect(problemsOf({ ...required, [name]: '1' })).toEqual([
        `  ${name} is no setting any more: remove it; ${instead}`,
      ]);
      const named = instead.match(/LATCHKEY_[A-Z_]+/g) ?? [];
      expect(unknownSettings(Object.fromEntries(named.map((one) => [one, '1'])))).toEqual([]);
    },
  );

  it('is reported behind everything else that is wrong', () => {
    const problems = problemsOf({ LATCHKEY_FINALIZER_LIMITS: '4', LATCHKEY_LOG_LEVEL: 'loud' });
    expect(problems.map((problem) => problem.trim().split(' ')[0])).toEqual([
      'LATCHKEY_BASE_URL',
      'LATCHKEY_LOG_LEVEL',
      'LATCHKEY_FINALIZER_LIMITS',
    ]);
  });

  it.each([
    'LATCHKEY_GATEWAY_SERVICE_HOST',
    'LATCHKEY_GATEWAY_SERVICE_PORT_HTTPS',
    'LATCHKEY_GATEWAY_PORT',
    'LATCHKEY_GATEWAY_PORT_443_TCP_ADDR',
  ])('is %s as well, which Kubernetes adds for a Service unless the Pod says otherwise', (name) => {
    const [problem] = problemsOf({ ...required, [name]: '10.0.0.1' });
    expect(problem).toContain(`${name} is no setting`);
    expect(problem).toContain('set enableServiceLinks: false in the Pod');
  });

  it('is none of the settings of another command, and none of another program', () => {
    const others = { LATCHKEY_SHUTDOWN_GRACE: '1s', PATH: '/bin', XLATCHKEY_A: '1', LATCHKEY: '1' };
    expect(unknownSettings({ ...required, ...others })).toEqual([]);
    expect(problemsOf({ ...required, ...others })).toEqual([]);
  });
});
