import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { Agent, request } from 'undici';
import { parse, stringify } from 'yaml';
import {
  createAuthority,
  createServer as createServerCertificate,
} from '../../lab/controlplane/certificates.ts';
import { type ControlPlane, startControlPlane } from '../../lab/controlplane/control-plane.ts';
import { freePort } from '../../lab/controlplane/ports.ts';
import { installDirectEndpoint } from '../../lab/gateway/direct-endpoint.ts';
import { type WebhookFiles, writeWebhookFiles } from '../../lab/gateway/webhook-files.ts';
import { until } from '../../lab/operator/until.ts';
import { annotations } from '../../src/api/names.ts';
import { directClusterEndpointTokens } from '../../src/api/resources.ts';
import { tokenClaims } from '../../src/credentials/tokens/claims.ts';
import { createKeySet, discoveryDocument } from '../../src/credentials/tokens/discovery.ts';
import { signToken } from '../../src/credentials/tokens/sign-token.ts';
import { generateSigningKey, type SigningKey } from '../../src/credentials/tokens/signing-key.ts';
import { clusterAudiences } from '../../src/scope/audiences.ts';
import type { Benchmark, BenchmarkContext, Section } from '../benchmark.ts';
import { type Endpoint, startGateway } from '../gateway/endpoints.ts';
import { type GatewayPlatform, withGatewayPlatform } from '../gateway/gateway-platform.ts';
import { Generator } from '../gateway/load.ts';
import { secretOf, usedKeys } from '../gateway/stored-keys.ts';
import { placeOf, randomOf, storedToken } from '../gateway/stored-tokens.ts';
import { processWith, usageOf } from '../measure/process-usage.ts';
import { ratioOf } from '../measure/ratios.ts';
import { interleave } from '../measure/rounds.ts';
import { percentile } from '../measure/statistics.ts';
import { figure, tableOf } from '../measure/table.ts';
import { kubectl } from '../world/kubectl.ts';
import { benchUser } from '../world/platform.ts';
import { storeCluster } from './direct-endpoint.ts';

const cluster = 'bench-asking';
const connections = 16;
/** Of tokens: the first one carries the load, the others are revoked. */
const stored = 51;
/** Answered from the cache of the API server, so that the question is most of the difference. */
const asked = '/api/v1/namespaces/default/configmaps/kube-root-ca.crt?resourceVersion=0';
const measures = [
  { key: 'p50', title: 'one connection, p50 ms' },
  { key: 'rate', title: `${connections} connections, requests a second` },
  { key: 'p99', title: 'p99 ms' },
  { key: 'apiServerCpu', title: 'CPU of the API server, µs a request' },
  { key: 'webhookCpu', title: 'CPU of the webhook, µs a request' },
] as const;

/** The price of the question that an API server asks the webhook for each request with a token of the platform. */
export const scopeWebhook: Benchmark = { name: 'scope-webhook', run };

async function run(context: BenchmarkContext): Promise<Section> {
  const few = { ...context, options: { ...context.options, keys: usedKeys } };
  return await withGatewayPlatform(few, async (platform) => {
    await storeCluster(platform, cluster, { tokens: stored, index: 0 });
    const gateway = await startGateway(platform);
    const key = await generateSigningKey({ createdAt: 0, activeFrom: 0, maxLife: 86_400 });
    const issuer = await publish(key, gateway.url);
    const port = await freePort();
    const files = await writeFiles(platform, { issuer, port });
    context.progress('starting the cluster whose API server asks');
    const inside = await startControlPlane({
      ...{ name: 'bench-asking', fsync: false, users: [{ user: benchUser }] },
      extraApiServerArgs: files.apiServerArgs,
    });
    try {
      await kubectl(inside, [
        'create',
        'clusterrolebinding',
        'bench-readers',
        '--clusterrole=view',
        '--group=system:authenticated',
      ]);
      const installed = await installDirectEndpoint(inside);
      const endpoint = await installed.start(platform.guard, {
        ...{ name: cluster, cluster, key: secretOf(placeOf(0)), platform: gateway.gateway },
        ...{ env: { ...files.env, NODE_ENV: 'production' }, certificate: files.certificate },
      });
      return await measure(context, platform, {
        inside,
        webhook: endpoint.process.pid,
        token: (index) => tokenFor(key, issuer.url, index),
      });
    } finally {
      await inside.stop();
      issuer.server.close();
    }
  });
}

interface Issuer {
  /** As the tokens name it. */
  readonly url: string;
  /** Where its documents are. */
  readonly server: Server;
  readonly authority: string;
}

/** Serves the documents of the issuer in place of the gateway, which has no operator here. */
async function publish(key: SigningKey, url: string): Promise<Issuer> {
  const authority = createAuthority('bench-issuer');
  const { certificate: cert, key: privateKey } = createServerCertificate(authority, ['localhost']);
  const server = createServer({ cert, key: privateKey }, (request, response) => {
    const { port } = server.address() as AddressInfo;
    const document = { ...discoveryDocument(url), jwks_uri: `https://127.0.0.1:${port}/jwks` };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(request.url === '/jwks' ? createKeySet([key]) : document));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url, server, authority: authority.certificate };
}

/** The printed files, where the documents of the issuer are elsewhere. */
async function writeFiles(
  { guard }: GatewayPlatform,
  { issuer, port }: { readonly issuer: Issuer; readonly port: number },
): Promise<WebhookFiles> {
  const folder = path.join(guard.folder, 'webhook');
  const platform = { url: issuer.url, ca: issuer.authority };
  const files = await writeWebhookFiles({ folder, cluster, platform, port });
  const authentication = parse(await readFile(files.authentication, 'utf8'));
  const { port: documents } = issuer.server.address() as AddressInfo;
  const discoveryURL = `https://127.0.0.1:${documents}/.well-known/openid-configuration`;
  Object.assign(authentication.jwt[0].issuer, { discoveryURL });
  await writeFile(files.authentication, stringify(authentication));
  return files;
}

function tokenFor(key: SigningKey, issuer: string, index: number): string {
  const now = Date.now();
  const { metadata } = storedToken(index, cluster, now);
  const claims = tokenClaims({
    ...{ issuer, audience: [clusterAudiences(issuer, cluster).whole[0]], scopes: [] },
    identity: { kind: 'user', user: String(metadata.annotations[annotations.requester]), groups: [] },
    object: { kind: 'DirectClusterEndpointToken', name: metadata.name, uid: metadata.uid },
    ...{ serial: 1, random: randomOf(index), issuedAt: now - 60_000, notAfter: now + 3_600_000 },
  });
  return signToken(claims, key);
}

interface Asking {
  readonly inside: ControlPlane;
  /** PID of its process. */
  readonly webhook: number;
  readonly token: (index: number) => string;
}

async function measure(
  { options, progress }: BenchmarkContext,
  platform: GatewayPlatform,
  { inside, webhook, token }: Asking,
): Promise<Section> {
  const generator = await Generator.build(platform.guard.folder);
  const pid = await processWith(`${inside.binaries['kube-apiserver']}\0`, inside.folder);
  const contenders = {
    'with the webhook': token(0),
    'a user that it is not asked about': inside.tokenOf(benchUser),
  };
  const turns = Object.entries(contenders).map(([name, bearer]) => {
    const endpoint: Endpoint = {
      name,
      url: inside.server,
      pid,
      headers: () => ({ Authorization: `Bearer ${bearer}` }),
    };
    const load = async (many: number, seconds = options.seconds) =>
      await generator.run(endpoint, { path: asked, connections: many, seconds });
    const measureOnce = async () => {
      const { p50 } = await load(1);
      const before = [await usageOf(pid), await usageOf(webhook)] as const;
      const { requests, seconds, p99 } = await load(connections);
      const after = [await usageOf(pid), await usageOf(webhook)] as const;
      const [apiServerCpu, webhookCpu] = [0, 1].map(
        (at) => (((after[at]?.cpuSeconds ?? 0) - (before[at]?.cpuSeconds ?? 0)) * 1e6) / requests,
      );
      return {
        p50,
        rate: requests / seconds,
        p99,
        apiServerCpu: apiServerCpu ?? 0,
        webhookCpu: webhookCpu ?? 0,
      };
    };
    return { name, load, measure: measureOnce };
  });
  for (const { name, load } of turns) {
    const answers = async () =>
      await load(1, 0.1).then(
        () => true,
        () => false,
      );
    await until(`answers ${name}`, answers, { everyMs: 200 });
    if (options.warmUp > 0) await load(connections, options.warmUp);
  }
  const samples = await interleave(turns, options.rounds, progress);
  progress('revoking tokens');
  const refused = await revoke(platform, inside, token);
  const [of, to] = Object.keys(contenders) as [string, string];
  const ratio = (key: string) => figure(ratioOf(samples, { key, of, to }) ?? Number.NaN);
  return {
    title: 'scope-webhook',
    about: `GET of a small object at an API server that asks the authorization webhook of a direct endpoint about tokens of the platform, by the files of \`latchkey direct-endpoint print-config\`, which keep no answer. ${options.rounds} rounds of ${options.seconds} s for each figure.`,
    table: tableOf(samples, measures),
    notes: [
      `Measured, as the median of the ratios within a round: p50 with one connection ${ratio('p50')}, rate ${ratio('rate')}.`,
      `From the start of the deletion of a token to the first refusal: p50 ${figure(percentile(refused, 50))} ms, p99 ${figure(percentile(refused, 99))} ms, ${refused.length} tokens.`,
      'API server, webhook and client work on the same cores.',
    ],
  };
}

/** Milliseconds for each token. */
async function revoke(
  { admin }: GatewayPlatform,
  { server, caData }: ControlPlane,
  token: Asking['token'],
): Promise<number[]> {
  const dispatcher = new Agent({ connect: { ca: Buffer.from(caData, 'base64') } });
  const isRefused = async (authorization: string): Promise<boolean> => {
    const { statusCode, body } = await request(server + asked, { dispatcher, headers: { authorization } });
    await body.dump();
    return statusCode === 401 || statusCode === 403;
  };
  const found: number[] = [];
  for (let index = 1; index < stored; index++) {
    const { name } = storedToken(index, cluster, 0).metadata;
    const authorization = `Bearer ${token(index)}`;
    if (await isRefused(authorization)) throw new Error(`token ${index} is no good before it is revoked`);
    const start = performance.now();
    const deleted = admin.delete(directClusterEndpointTokens, { name });
    while (!(await isRefused(authorization)));
    found.push(performance.now() - start);
    await deleted;
  }
  await dispatcher.close();
  return found;
}
