import { createHash } from 'node:crypto';
import { get } from 'node:http';
import { describe, expect, it } from 'vitest';
import { toAnswer } from '../../../test/builders/command-line.ts';
import type { SentRequest } from '../shared/context.ts';
import { loginInBrowser } from './browser.ts';

const issuer = 'https://idp.example.com';
const provider = {
  issuer,
  clientID: 'latchkey',
  authorizationEndpoint: `${issuer}/auth`,
  tokenEndpoint: `${issuer}/token`,
  scope: 'openid profile email',
  namesItself: true,
};
const tokenWith = (claims: object) => `a.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c`;

/** The way back of a browser after the person has logged in, with the answer of the provider. */
type Return = (page: URL) => Readonly<Record<string, string>>;

const visit = async (url: URL): Promise<number> =>
  await new Promise((resolve) => get(url, (response) => resolve(response.resume().statusCode ?? 0)));

async function login(
  answer: Return,
  nonceOf = (page: URL) => page.searchParams.get('nonce'),
  namesItself = true,
) {
  const forms: SentRequest[] = [];
  const visits: number[] = [];
  let page = new URL(issuer);
  const token = await loginInBrowser(
    { ...provider, namesItself },
    {
      platform: 'linux',
      signal: new AbortController().signal,
      stderr: { isTTY: false, write: () => undefined },
      send: async (request) => {
        forms.push(request);
        return toAnswer(200, { id_token: tokenWith({ nonce: nonceOf(page) }) });
      },
      run: async (program, args) => {
        expect(program).toBe('xdg-open');
        page = new URL(args[0] ?? '');
        const back = new URL(page.searchParams.get('redirect_uri') ?? '');
        back.search = new URLSearchParams(answer(page)).toString();
        visits.push(await visit(back));
        return { code: 0, stdout: '', stderr: '' };
      },
    },
  ).finally(() => expect(visits.length).toBeLessThanOrEqual(1));
  return { token, page, form: Object.fromEntries(new URLSearchParams(forms[0]?.body)) };
}

const good: Return = (page) => ({
  code: 'the-code',
  state: page.searchParams.get('state') ?? '',
  iss: issuer,
});

describe('a login with a browser', () => {
  it('sends code and verifier to the provider alone, and the challenge in front of them', async () => {
    const { page, form, token } = await login(good);
    expect(token).toMatch(/^a\..+\.c$/);
    expect(page.searchParams.get('code_challenge_method')).toBe('S256');
    expect(page.searchParams.get('code_challenge')).toBe(
      createHash('sha256')
        .update(form['code_verifier'] ?? '')
        .digest('base64url'),
    );
    expect(form).toMatchObject({ grant_type: 'authorization_code', code: 'the-code', client_id: 'latchkey' });
    expect(form['redirect_uri']).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/);
  });

  it.each<[string, Return, string]>([
    [
      'of another provider',
      (page) => ({ ...good(page), iss: 'https://evil.example.com' }),
      'the answer came from another provider',
    ],
    [
      'that does not say of whom',
      ({ searchParams }) => ({ code: 'a', state: searchParams.get('state') ?? '' }),
      'the answer came from another provider',
    ],
    [
      'that says no',
      (page) => ({ error: 'access_denied', state: page.searchParams.get('state') ?? '', iss: issuer }),
      'access_denied',
    ],
  ])('refuses an answer %s', async (_, answer, problem) => {
    await expect(login(answer)).rejects.toThrow(problem);
  });

  it('refuses a token that was made for another login', async () => {
    await expect(login(good, () => 'another')).rejects.toThrow('the provider answered another login');
  });

  it('takes no notice of an answer with another state', async () => {
    const controller = new AbortController();
    const seen = loginInBrowser(provider, {
      platform: 'linux',
      signal: controller.signal,
      stderr: { isTTY: false, write: () => undefined },
      send: async () => toAnswer(200, {}),
      run: async (_, args) => {
        const back = new URL(new URL(args[0] ?? '').searchParams.get('redirect_uri') ?? '');
        back.search = '?code=a&state=guessed';
        expect(await visit(back)).toBe(404);
        controller.abort();
        return { code: 0, stdout: '', stderr: '' };
      },
    });
    await expect(seen).rejects.toThrow('the login was stopped');
  });
});
