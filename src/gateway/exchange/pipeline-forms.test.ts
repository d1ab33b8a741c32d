import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { credentialObject, recordOf } from '../../../test/builders/credential-object.ts';
import { silentLogger } from '../../logger.ts';
import { Refusal } from '../endpoints/shared/reply.ts';
import { type DecideOptions, decide } from './decide.ts';
import { knownIssuers } from './key-sets.ts';

/** As the platforms document their tokens. No token of theirs was at hand. */
interface Form {
  readonly issuer: string;
  readonly header: object;
  /** Without those that every token has. */
  readonly claims: JWTPayload;
  /** The claim that names one project for good, and that of the branch. */
  readonly id: string;
  readonly branch: string;
}

const forms: Readonly<Record<string, Form>> = {
  'GitHub Actions': {
    issuer: 'https://token.actions.githubusercontent.com',
    header: { typ: 'JWT', x5t: 'ykNaY4qM_ta4k2TgZOCEYLkcYlA' },
    claims: {
      sub: 'repo:acme/shop:ref:refs/heads/main',
      repository: 'acme/shop',
      ...{ repository_id: '821093847', repository_owner: 'acme', repository_owner_id: '5544123' },
      ...{ ref: 'refs/heads/main', ref_type: 'branch', run_id: '9551234567', run_attempt: '2' },
      ...{ event_name: 'push', runner_environment: 'github-hosted', ref_protected: 'true' },
    },
    id: 'repository_id',
    branch: 'ref',
  },
  GitLab: {
    issuer: 'https://gitlab.com',
    header: { typ: 'JWT' },
    claims: {
      sub: 'project_path:acme/shop:ref_type:branch:ref:main',
      ...{ namespace_id: '72', namespace_path: 'acme', project_id: '20', project_path: 'acme/shop' },
      ...{ user_id: '1', user_login: 'sample', pipeline_id: '574', job_id: '302', ref: 'main' },
      ...{ ref_type: 'branch', ref_protected: 'true', runner_id: 1, runner_environment: 'self-hosted' },
    },
    id: 'project_id',
    branch: 'ref',
  },
  Buildkite: {
    issuer: 'https://agent.buildkite.com',
    header: { typ: 'JWT' },
    claims: {
      sub: 'organization:acme:pipeline:shop:ref:refs/heads/main:commit:9f3182:step:build',
      ...{ organization_slug: 'acme', pipeline_slug: 'shop', build_number: 1, build_branch: 'main' },
      ...{ pipeline_id: '0184990a-477b-4fa8-9968-496074483cee', step_key: 'build' },
    },
    id: 'pipeline_id',
    branch: 'build_branch',
  },
  CircleCI: {
    issuer: 'https://oidc.circleci.com/org/b9c5a4a6-9f4e-4d0f-8b9c-1f1d2f3a4b5c',
    header: { typ: 'JWT' },
    claims: {
      sub: 'org/b9c5a4a6-9f4e-4d0f-8b9c-1f1d2f3a4b5c/project/7f0e/user/81ac',
      ...{ 'oidc.circleci.com/context-ids': [], 'oidc.circleci.com/ssh-rerun': false },
      ...{ 'oidc.circleci.com/project-id': '7f0e4b1c', 'oidc.circleci.com/vcs-ref': 'refs/heads/main' },
    },
    id: 'oidc.circleci.com/project-id',
    branch: 'oidc.circleci.com/vcs-ref',
  },
};

const baseURL = 'https://latchkey.example.com';
const now = Date.UTC(2026, 10, 26, 10);
const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
const keys = [{ ...(await exportJWK(publicKey)), kid: 'one', use: 'sig' }];

async function outcome({ issuer, header, claims, id, branch }: Form, changed: JWTPayload = {}) {
  const rule = { [id]: claims[id], [branch]: claims[branch] };
  const exchange = { tokens: [{ issuer, claims: rule }] };
  const key = recordOf(credentialObject({ name: 'ci-shop', spec: { user: 'ci-shop', exchange } }));
  const trusted = [{ issuer, algorithms: ['RS256'], jwksURI: `${issuer}/keys` }];
  const reading = { read: async () => ({ keys }), clock: { monotonic: () => 0 }, random: () => 0 };
  const options: DecideOptions = {
    issuers: knownIssuers(trusted, { ...reading, log: silentLogger }),
    accountTokens: { check: () => ({ problem: 'none' }), isOf: async () => false },
    index: {
      records: { accessKey: () => key },
      locks: { findAhead: () => undefined },
      findKey: () => ({
        ...{ record: key, ancestors: [], identity: { kind: 'user', user: 'ci-shop', groups: [] } },
        ...{ end: Number.POSITIVE_INFINITY, isLimited: false, gates: [], scopes: '', gateOwners: [] },
        impersonation: [],
      }),
      used: () => undefined,
    },
    baseURL,
    now: () => now,
  };
  const iat = Math.floor(now / 1_000);
  const times = { iat, nbf: iat, exp: iat + 300 };
  const token = await new SignJWT({
    iss: issuer,
    aud: baseURL,
    jti: 'run-1',
    ...times,
    ...claims,
    ...changed,
  })
    .setProtectedHeader({ alg: 'RS256', kid: 'one', ...header })
    .sign(privateKey);
  try {
    return (await decide({ subjectToken: token, audience: 'ci-shop' }, options)).maker.user;
  } catch (error) {
    if (error instanceof Refusal) return error.answer.code;
    throw error;
  }
}

describe.each(Object.entries(forms))('a token in the form of %s', (_, form) => {
  it('is taken by a key that names its project and branch', async () => {
    expect(await outcome(form)).toBe('ci-shop');
  });

  it('of another project or branch is not', async () => {
    for (const name of [form.id, form.branch])
      expect(await outcome(form, { [name]: `${form.claims[name]}0` })).toBe('ERR_EXCHANGE_TARGET');
  });

  it('without the claim that names the project is not', async () => {
    expect(await outcome(form, { [form.id]: undefined })).toBe('ERR_EXCHANGE_TARGET');
  });
});
