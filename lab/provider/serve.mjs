// The OpenID provider of a site, as a process of its own. It prints its issuer, and asks everyone for the same password.
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { text } from 'node:stream/consumers';
import { Provider } from 'oidc-provider';

/** `people`: claims by login. `clients`: seconds that a device code lives, by client ID. `pages`: origins at which people log in, too. */
const { certificate, key, password, people, clients, pages = [] } = JSON.parse(process.env['PROVIDER'] ?? '');
const server = createServer({ cert: readFileSync(certificate), key: readFileSync(key) });
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const issuer = `https://localhost:${server.address().port}`;

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';
const provider = new Provider(issuer, {
  clients: Object.keys(clients).map((id) => ({
    client_id: id,
    client_name: 'the command line',
    application_type: 'native',
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', deviceGrant],
    response_types: ['code'],
    // Native applications may add any port.
    redirect_uris: ['http://127.0.0.1/callback', ...pages.map((origin) => `${origin}/`)],
  })),
  clientBasedCORS: (_, origin) => pages.includes(origin),
  jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'one', alg: 'RS256', use: 'sig' }] },
  features: { devInteractions: { enabled: false }, deviceFlow: { enabled: true } },
  claims: { openid: ['sub'], profile: ['preferred_username'], email: ['email'], groups: ['groups'] },
  // The ID token has all claims itself, as those of most providers.
  conformIdTokenClaims: false,
  findAccount: (_, login) =>
    Object.hasOwn(people, login)
      ? { accountId: login, claims: () => ({ sub: login, ...people[login] }) }
      : undefined,
  loadExistingGrant: async ({ oidc }) => {
    const grant = new provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
    grant.addOIDCScope('openid profile email groups');
    await grant.save();
    return grant;
  },
  interactions: { url: (_, { uid }) => `/interaction/${uid}` },
  ttl: {
    ...{ AccessToken: 600, AuthorizationCode: 60, Grant: 600, IdToken: 60, Interaction: 600, Session: 600 },
    DeviceCode: (_, __, { clientId }) => clients[clientId],
  },
  cookies: { keys: ['of-this-run'] },
});
// The default of RFC 8628 is five seconds.
provider.use(async (ctx, next) => {
  await next();
  if (ctx.oidc?.route === 'device_authorization' && ctx.status === 200) ctx.body.interval = 1;
});

const loginFields =
  '<label>Login <input name="login"></label> <label>Password <input name="password" type="password"></label> ';

/** The pages of the provider itself: who are you, and may the command line log you in? */
async function interact(request, response) {
  const { prompt } = await provider.interactionDetails(request, response);
  if (request.method === 'GET') {
    const fields = prompt.name === 'login' ? loginFields : '';
    response.setHeader('content-type', 'text/html');
    return response.end(
      `<form method="post" action="${request.url}">${fields}<button>Continue</button></form>`,
    );
  }
  const form = new URLSearchParams(await text(request));
  if (prompt.name === 'login' && form.get('password') !== password)
    return response.writeHead(403).end('the password is wrong');
  const result = prompt.name === 'login' ? { login: { accountId: form.get('login') } } : { consent: {} };
  await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });
}

const answer = provider.callback();
server.on('request', (request, response) => {
  if (!request.url.startsWith('/interaction/')) return answer(request, response);
  return interact(request, response).catch((error) => {
    console.error(error);
    response.writeHead(500).end();
  });
});
console.log(`issuer ${issuer}`);
