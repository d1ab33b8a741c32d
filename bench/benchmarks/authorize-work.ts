import { hash } from 'node:crypto';
import { toLiveRecord } from '../../src/credentials/live-record.ts';
import { type LockRecord, toLockRecord } from '../../src/credentials/locks/lock-record.ts';
import { authenticate } from '../../src/gateway/gate/authenticate.ts';
import { findDenial, resolve } from '../../src/gateway/gate/authorise.ts';
import { CredentialRecords } from '../../src/gateway/index/credential-records.ts';
import { TargetRecords } from '../../src/gateway/index/target-records.ts';
import { Verdicts } from '../../src/gateway/index/verdicts.ts';
import { Locks } from '../../src/platform/locks.ts';
import { namespaces, secretOf, storedKeys, usedKeys } from '../gateway/stored-keys.ts';
import type { Operation, Works } from '../measure/worker-process.ts';

/** How many access keys there are; with an option it would have to be told to each process. */
export const keys = 100_000;

/** The works of `authorize`; each in a process of its own. */
export const works = { authorize, underLocks, afterLock, lookUp, nothing } as const satisfies Works;

export type WorkName = keyof typeof works;

/** The gateway's own code from the head of a request to the decision that it may pass. */
async function authorize(): Promise<Operation> {
  return authorizeWith(findVerdict(new Locks()));
}

/** The same with locks in force that stop others. */
async function underLocks(): Promise<Operation> {
  return authorizeWith(findVerdict(manyLocks()));
}

/** The first use of a key after a lock has come: it looks for its own. */
async function afterLock(): Promise<Operation> {
  const locks = manyLocks();
  const find = findVerdict(locks);
  const hashes = Array.from({ length: usedKeys }, (_, key) => sha256(secretOf(key)));
  for (const hash of hashes) find(hash);
  const [first, second] = [1, 2].map((generation) => lockOf('turns', { user: 'someone' }, generation));
  let turn = 0;
  return () => {
    turn += 1;
    if (turn % hashes.length === 0)
      locks.store.upsert((turn % (2 * hashes.length) === 0 ? first : second) as LockRecord);
    if (find(hashes[turn % hashes.length] ?? '') === undefined) throw new Error('not known');
  };
}

/** How many locks are in force, of each kind that may be many. */
export const lockCount = 1_000;

function manyLocks(): Locks {
  const locks = new Locks();
  for (let index = 0; index < lockCount; index += 1)
    for (const [name, spec] of Object.entries({
      user: { user: `left-${index}` },
      hash: { credentialHash: sha256(`stolen-${index}`) },
      subject: { exchange: { issuer: 'https://ci.example', subject: `repo:${index}` } },
    }))
      locks.store.upsert(lockOf(`${name}-${index}`, spec));
  return locks;
}

const lockOf = (name: string, spec: object, generation = 1): LockRecord =>
  toLockRecord({ metadata: { name, uid: name, resourceVersion: String(generation), generation }, spec });

function authorizeWith(find: Verdicts['find']): Operation {
  const authentication = { index: { find, problem: () => undefined }, clock: Date };
  const heads = Array.from(
    { length: usedKeys },
    (_, key): Head => ({
      rawHeaders: headOf(secretOf(key)),
      headers: {},
    }),
  );
  const paths = Array.from({ length: 64 }, (_, index) => pathOf(index));
  let turn = 0;
  return () => {
    turn += 1;
    const sender = authenticate(heads[turn % heads.length] as Head, authentication);
    if ('status' in sender) throw new Error(`not authenticated: ${sender.body}`);
    const sent = { method: 'GET', target: paths[turn % paths.length] ?? '', contentType: undefined };
    const asked = resolve(sent);
    if ('status' in asked) throw new Error(`not understood: ${asked.body}`);
    const denial = findDenial(sender.verdict, asked, { isPlatform: true });
    if (denial !== undefined) throw new Error(`not in scope: ${denial.body}`);
  };
}

function findVerdict(locks: Locks): Verdicts['find'] {
  const records = new CredentialRecords();
  const now = Date.now();
  for (const key of storedKeys(0, keys, { now }))
    records.ofKind.OwnedAccessKey.upsert(toLiveRecord(key, 'OwnedAccessKey'));
  const verdicts = new Verdicts({
    records,
    targets: new TargetRecords('p-'),
    projectNamespacePrefix: 'p-',
    now: Date.now,
    locks,
    activityInterval: 60_000,
    onDropped: () => undefined,
  });
  return (hash) => verdicts.find(hash);
}

/** Does what no program can do without: the SHA-256 of the bearer string, and a look-up among all. */
async function lookUp(): Promise<Operation> {
  const known = new Map(Array.from({ length: keys }, (_, key) => [sha256(secretOf(key)), key]));
  const secrets = Array.from({ length: usedKeys }, (_, key) => secretOf(key));
  let turn = 0;
  return () => {
    turn += 1;
    if (known.get(sha256(secrets[turn % secrets.length] ?? '')) === undefined) throw new Error('not found');
  };
}

/** The loop itself, and nothing in it. */
async function nothing(): Promise<Operation> {
  return () => undefined;
}

const sha256 = (text: string): string => hash('sha256', text, 'hex');

/** As Node gives them: name and value in turn. */
type Head = Parameters<typeof authenticate>[0];

const headOf = (secret: string): string[] => [
  ...['Host', 'latchkey.example.com', 'User-Agent', 'kubectl/v1.36.0 (linux/amd64) kubernetes/0000000'],
  ...['Accept', 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json', 'Accept-Encoding', 'gzip'],
  ...['Authorization', `Bearer ${secret}`],
];

const pathOf = (index: number): string =>
  `/kubernetes/management/api/v1/namespaces/${namespaces.small}/configmaps/object-${index}`;
