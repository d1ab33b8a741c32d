import path from 'node:path';
import { decodeJwt } from 'jose';
import type { ControlPlaneAccess } from '../../lab/controlplane/access.ts';
import type { RunningGateway } from '../../lab/gateway/running-gateway.ts';
import { configFolder } from '../../lab/operator/kustomization.ts';
import { until } from '../../lab/operator/until.ts';
import { read } from './cluster.ts';
import { projectNamespace } from './virtual-cluster.ts';

/** An ordinary user: config/samples/project binds them to the shipped role for self-service. */
export const ordinaryUser = 'bob';
const names = { key: 'bob-laptop', token: 'bob-staging' };
/** A path that the scope of the key opens, and one that it does not. */
const paths = {
  inside: `/kubernetes/project/demo/virtualcluster/shop/api/v1/namespaces`,
  outside: '/kubernetes/management/api/v1/namespaces',
};
/** The samples say half a minute. */
const renewal = { timeoutMs: 90_000, everyMs: 2000 };

/** The steps of an ordinary user and an administrator, in order. No credential is among them. */
export interface Story {
  readonly created: readonly string[];
  /** Output of `kubectl auth can-i get oak`. */
  readonly mayRead: { readonly user: string; readonly administrator: string };
  readonly inside: Answer;
  readonly outside: Answer;
  readonly renewed: readonly [TokenLife, TokenLife];
  /** After each of these. */
  readonly disabled: Answer;
  readonly deleted: Answer;
}

/** Of the gateway. */
export interface Answer {
  readonly path: string;
  readonly status: number;
  /** The list, or why there is none. */
  readonly text: string;
}

/** The life of a token by its own claims. */
export interface TokenLife {
  readonly serial: string;
  readonly issued: Date;
  readonly end: Date;
}

/** The parties of the story, by the path of a kubeconfig each. */
export interface Cast {
  readonly platform: ControlPlaneAccess;
  readonly gateway: RunningGateway;
  readonly user: string;
  readonly administrator: string;
}

interface Begun {
  readonly created: readonly string[];
  readonly first: TokenLife;
}

/** The user makes a key, and a token below it. The rest of the story waits for a renewal, so this comes early. */
export async function beginStory(cast: Cast): Promise<Begun> {
  const create = ['create', '-k', path.join(configFolder, 'samples/self-service')];
  const created = await read(cast.platform, create, cast.user);
  return { created: created.split('\n'), first: await tokenLife(cast) };
}

/** The user uses the key until the administrator takes it away, and then deletes it. @throws Error when something shown is not true. */
export async function finishStory(cast: Cast, { created, first }: Begun): Promise<Story> {
  const { platform, gateway, user, administrator } = cast;
  const key = await readSecret(cast, names.key, 'key');
  const ask = async (place: string) => await answerTo(gateway, place, key);
  const inside = await untilAnswer(async () => await ask(paths.inside), 200);
  const outside = await untilAnswer(async () => await ask(paths.outside), 403);
  const canRead = async (kubeconfig: string) =>
    (await platform.kubectl(['auth', 'can-i', 'get', 'oak'], { kubeconfig })).stdout.trim();
  const renewed = await until('the token is renewed', async () => await laterThan(first, cast), renewal);
  const refusedAfter = async (kubeconfig: string, args: readonly string[]) => {
    await read(platform, args, kubeconfig);
    return await untilAnswer(async () => await ask(paths.inside), 401);
  };
  return {
    created,
    mayRead: { user: await canRead(user), administrator: await canRead(administrator) },
    inside,
    outside,
    renewed: [first, renewed],
    disabled: await refusedAfter(administrator, disableKey),
    deleted: await refusedAfter(user, deleteBoth),
  };
}

export const disableKey = ['patch', 'oak', names.key, '--type=merge', '-p', '{"spec":{"disabled":true}}'];
export const deleteBoth = ['delete', `dcet/${names.token}`, `oak/${names.key}`];

/** The gateway hears of a change a moment after kubectl. */
async function untilAnswer(ask: () => Promise<Answer>, status: number): Promise<Answer> {
  let last: Answer | undefined;
  const look = async () => {
    last = await ask();
    return last.status === status ? last : undefined;
  };
  return await until(`the gateway answers ${status}`, look, { timeoutMs: 30_000, seen: () => last });
}

async function answerTo(gateway: RunningGateway, place: string, key: string): Promise<Answer> {
  const { statusCode, body } = await gateway.send(place, { key });
  return { path: place, status: statusCode, text: textOf((await body.json()) as Body) };
}

interface Body {
  readonly items?: readonly object[];
  readonly message?: string;
}

const textOf = ({ items, message = '' }: Body): string =>
  items === undefined ? message : `${items.length} namespaces`;

async function laterThan(first: TokenLife, cast: Cast): Promise<TokenLife | undefined> {
  const life = await tokenLife(cast);
  return life.serial === first.serial ? undefined : life;
}

async function tokenLife(cast: Cast): Promise<TokenLife> {
  return lifeOf(await readSecret(cast, names.token, 'token'));
}

/** The Secret comes a moment after the object, and the user may read it. */
async function readSecret({ platform, user }: Cast, name: string, entry: string): Promise<string> {
  const get = ['get', 'secret', name, '-n', projectNamespace, '-o', `jsonpath={.data.${entry}}`];
  const look = async () => await read(platform, get, user);
  return Buffer.from(await until(`the Secret ${name} is there`, look), 'base64').toString();
}

/** @throws Error when this is not a token of Latchkey. */
export function lifeOf(token: string): TokenLife {
  const { jti = '', iat, exp } = decodeJwt(token);
  const serial = jti.split('.')[1];
  if (serial === undefined || iat === undefined || exp === undefined) throw new Error('no token of Latchkey');
  return { serial, issued: new Date(iat * 1000), end: new Date(exp * 1000) };
}
