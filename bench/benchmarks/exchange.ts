import path from 'node:path';
import { Guard } from '../../lab/controlplane/guard.ts';
import { runBundle } from '../../lab/operator/program.ts';
import { baseURL } from '../../lab/operator/running-operator.ts';
import { until } from '../../lab/operator/until.ts';
import { TokenIssuer } from '../../lab/provider/token-issuer.ts';
import { apiVersion } from '../../src/api/names.ts';
import { ownedAccessKeys } from '../../src/api/resources.ts';
import { collectionPath } from '../../src/kube/resource-path.ts';
import { buildBundle } from '../../tools/bundle/build-bundle.ts';
import type { Benchmark, BenchmarkContext, Section } from '../benchmark.ts';
import { startGateway } from '../gateway/endpoints.ts';
import { secretOf } from '../gateway/stored-keys.ts';
import { CPUMeter } from '../measure/cpu-meter.ts';
import { interleave } from '../measure/rounds.ts';
import { tableOf } from '../measure/table.ts';
import { withOperator } from '../world/operator.ts';
import { measures, plainWay, Subject, type Way } from '../world/ways.ts';

const audience = 'bench-pipeline';
const clientID = 'latchkey-cli';
const ttl = 900;

/** How long a pipeline or a person waits for a key who brings a token of another issuer. */
export const exchange: Benchmark = { name: 'exchange', run };

async function run(context: BenchmarkContext): Promise<Section> {
  const guard = await Guard.start('bench-gateway');
  const issuer = await TokenIssuer.start();
  try {
    return await withOperator(context, async ({ plane, client, pids }, operator) => {
      context.progress('starting the gateway');
      const bundle = path.join(guard.folder, 'latchkey.mjs');
      await buildBundle(bundle);
      runBundle(bundle);
      for (const [name, spec] of Object.entries(parents(issuer))) {
        const { kind } = ownedAccessKeys;
        await client.create(ownedAccessKeys, { apiVersion, kind, metadata: { name }, spec });
      }
      const env = settings(issuer);
      const { gateway } = await startGateway({ plane, guard }, { env, profile: context.options.profile });
      const send: Send = async (path, headers, body) => {
        const answer = await gateway.send(path, { method: 'POST', headers, body });
        return { status: answer.statusCode, text: await answer.body.text() };
      };
      const meter = new CPUMeter({
        platform: [pids.apiServer, pids.etcd],
        operator: [operator.pid],
        gateway: [gateway.process.pid],
      });
      const ways = waysOf(issuer, send);
      for (const { name, begin } of ways) await until(`${name} works`, async () => await works(begin));
      const section = await measured(ways, meter, context);
      // In order, so that a profile is written.
      await gateway.end();
      return section;
    });
  } finally {
    await issuer.stop();
    await guard.stop();
  }
}

type Send = (
  path: string,
  headers: Readonly<Record<string, string>>,
  body: string,
) => Promise<{ readonly status: number; readonly text: string }>;

/** The gateway may hear of a key later than the client that made it. */
async function works(begin: Way['begin']): Promise<boolean> {
  const { once, end } = await begin();
  return await once(`bench-first-${performance.now()}`.replace('.', '-'))
    .then(
      () => true,
      () => false,
    )
    .finally(end);
}

async function measured(
  ways: readonly Way[],
  meter: CPUMeter,
  { options, progress }: BenchmarkContext,
): Promise<Section> {
  const { rounds, runs, warmUp } = options;
  const subjects = ways.map((way) => new Subject(way, meter));
  for (const subject of subjects) await subject.warmUp(warmUp / subjects.length);
  const contenders = subjects.map((subject) => subject.contender(Math.ceil(runs / rounds)));
  return {
    title: 'exchange',
    about: `From a token of another issuer to a key that works: \`POST /oauth/token\`, and beside it a key below the same key, made with it by POST. ${runs} of each in ${rounds} rounds one after the other, and as many sixteen at a time. CPU is that of the latter. etcd waits for the disk.`,
    table: tableOf(await interleave(contenders, rounds, progress), measures),
    notes: [
      'To reach: p50 at most 60 ms, and at least 50 a second.',
      'The client signs each token, so its time and CPU are part of the row. The gateway has the keys of the issuer, as it has after the first exchange.',
      'The gateway holds each answer back until its own watch has brought the confirmed key, so that the next request with it passes.',
    ],
  };
}

/** A key that takes tokens of one repository, and one that makes keys below itself. */
const parents = ({ issuer }: TokenIssuer): Readonly<Record<string, object>> => ({
  [audience]: { exchange: { maxTTL: ttl, tokens: [{ issuer, claims: { repository_id: '1' } }] } },
  'bench-poster': { key: secretOf(0) },
});

const settings = ({ issuer, certificateAuthority }: TokenIssuer): Readonly<Record<string, string>> => ({
  LATCHKEY_TRUSTED_ISSUERS: JSON.stringify([
    {
      ...{ issuer, algorithms: ['ES256'], certificateAuthority },
      login: { clientID, username: { claim: 'sub', prefix: '' }, ttl },
    },
  ]),
  // Every run makes a key that stays, and asks from the same address.
  LATCHKEY_MAX_OBJECTS_PER_OWNER: '0',
  LATCHKEY_UNAUTHENTICATED_REQUESTS_PER_ADDRESS: '0',
});

function waysOf(issuer: TokenIssuer, send: Send): readonly Way[] {
  const own = `/kubernetes/management${collectionPath(ownedAccessKeys)}`;
  const posted = async (name: string) => {
    const headers = { authorization: `Bearer ${secretOf(0)}`, 'content-type': 'application/json' };
    const { kind } = ownedAccessKeys;
    const object = { apiVersion, kind, metadata: { name }, spec: { ttl, accessKey: 'bench-poster' } };
    await expectKey(send(own, headers, JSON.stringify(object)), ({ spec }) => spec?.key);
  };
  const exchanged = async (
    claims: Readonly<Record<string, string>>,
    to: Readonly<Record<string, string>>,
  ) => {
    const body = new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      subject_token: await issuer.sign(claims),
      ...to,
    });
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    await expectKey(send('/oauth/token', headers, body.toString()), ({ access_token }) => access_token);
  };
  const pipeline = { aud: baseURL, sub: 'repo:bench', repository_id: '1' };
  return [
    {
      name: 'the token of a pipeline, exchanged',
      begin: plainWay((jti) => exchanged({ ...pipeline, jti }, { audience })),
    },
    {
      name: 'the token of a person, exchanged',
      begin: plainWay((jti) => exchanged({ aud: clientID, sub: 'bench-person', jti }, {})),
    },
    { name: 'beside: a key below a key, by POST', begin: plainWay(posted) },
  ];
}

interface Answer {
  readonly access_token?: string;
  readonly spec?: { readonly key?: string };
}

/** @throws Error when the answer is not one with a key. */
async function expectKey(
  sent: ReturnType<Send>,
  keyOf: (answer: Answer) => string | undefined,
): Promise<void> {
  const { status, text } = await sent;
  if (status >= 300 || keyOf(JSON.parse(text)) === undefined)
    throw new Error(`a request for a key was answered with ${status}: ${text.slice(0, 300)}`);
}
