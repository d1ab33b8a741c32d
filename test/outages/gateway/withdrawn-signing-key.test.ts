import { expect, it } from 'vitest';
import { trustingClusterName } from '../../../lab/gateway/trusting-configuration.ts';
import { until } from '../../../lab/operator/until.ts';
import { trustingCluster } from '../../e2e/gateway/trusting-cluster.ts';
import { Issuer, signingKeyOf } from '../../e2e/lifecycle/issuer.ts';

const { world, whoAmI, addAudience } = await trustingCluster();
const { admin, gateway } = world;
const issuer = new Issuer(admin);
const limit = { timeoutMs: 120_000, everyMs: 500 };

async function makeToken() {
  const scope = { clusters: [{ cluster: trustingClusterName }] };
  const token = await admin.untilReady(await admin.createToken({ ttl: 3_600, scope }));
  return { token, bearer: token.status.token as string };
}

/** Until the gateway no longer serves the key of this token. Resolves with the token that follows. */
async function withdraw({ token, bearer }: Awaited<ReturnType<typeof makeToken>>) {
  const revoked = signingKeyOf(bearer);
  await issuer.revoke(revoked);
  const successor = await admin.until(
    token,
    'a successor',
    ({ status }) => status.serial > token.status.serial,
  );
  const ready = await admin.untilReady(successor);
  const next = ready.status.token as string;
  await until('the key is withdrawn, and the next one is there', async () => {
    const { body } = await gateway.send('/openid/v1/jwks');
    const served = await body.text();
    return !served.includes(revoked) && served.includes(signingKeyOf(next));
  });
  return { token: ready, bearer: next };
}

/** Longer than the API server remembers who a token was for. */
async function stillAccepts(bearer: string): Promise<boolean> {
  const end = performance.now() + 12_000;
  return await until(
    'the answer to stay',
    async () => {
      if ((await whoAmI(bearer)) === undefined) return 'no';
      return performance.now() > end && 'yes';
    },
    limit,
  ).then((answer) => answer === 'yes');
}

it('a withdrawn key ends its tokens in a cluster that trusts them once a token of another key comes there', async () => {
  const first = await makeToken();
  await until('the API server knows the issuer', async () => await whoAmI(first.bearer), limit);
  const second = await withdraw(first);
  expect(await stillAccepts(first.bearer)).toBe(true);
  expect(await whoAmI(second.bearer)).toBeDefined();
  await until('the token is refused', async () => (await whoAmI(first.bearer)) === undefined, limit);
  expect(await whoAmI(second.bearer)).toBeDefined();
});

it('or once the configuration of its API server changes', async () => {
  const first = await makeToken();
  await until('the API server knows the issuer', async () => await whoAmI(first.bearer), limit);
  const second = await withdraw(first);
  expect(await stillAccepts(first.bearer)).toBe(true);
  addAudience('https://latchkey.example.com/reread');
  await until('the token is refused', async () => (await whoAmI(first.bearer)) === undefined, limit);
  expect(await whoAmI(second.bearer)).toBeDefined();
});
