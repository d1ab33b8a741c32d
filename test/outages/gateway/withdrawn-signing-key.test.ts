import { beforeAll, describe, expect, it } from 'vitest';
import { trustingClusterName } from '../../../lab/gateway/trusting-configuration.ts';
import { until } from '../../../lab/operator/until.ts';
import { type TrustingCluster, trustingCluster } from '../../e2e/gateway/trusting-cluster.ts';
import { Issuer, signingKeyOf } from '../../e2e/lifecycle/issuer.ts';

const one = await trustingCluster();
const other = await one.another();
const { admin, gateway } = one.world;
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
async function stillAccepts({ whoAmI }: TrustingCluster, bearer: string): Promise<boolean> {
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

const untilRefused = async ({ whoAmI }: TrustingCluster, bearer: string): Promise<void> =>
  void (await until('the token is refused', async () => (await whoAmI(bearer)) === undefined, limit));

describe.concurrent('a withdrawn key ends its tokens in a cluster that trusts them', () => {
  let first: string;
  let second: string;

  beforeAll(async () => {
    const token = await makeToken();
    first = token.bearer;
    for (const { whoAmI } of [one, other])
      await until('the API server knows the issuer', async () => await whoAmI(first), limit);
    second = (await withdraw(token)).bearer;
  });

  it('once a token of another key comes there', async () => {
    expect(await stillAccepts(one, first)).toBe(true);
    expect(await one.whoAmI(second)).toBeDefined();
    await untilRefused(one, first);
    expect(await one.whoAmI(second)).toBeDefined();
  });

  it('once the configuration of its API server changes', async () => {
    expect(await stillAccepts(other, first)).toBe(true);
    other.addAudience('https://latchkey.example.com/reread');
    await untilRefused(other, first);
    expect(await other.whoAmI(second)).toBeDefined();
  });
});
