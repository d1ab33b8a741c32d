import { hash } from 'node:crypto';
import { toLiveRecord } from '../../src/credentials/live-record.ts';
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
export const works = { authorize, lookUp, nothing } as const satisfies Works;

export type WorkName = keyof typeof works;

/** The gateway's own code from the head of a request to the decision that it may pass. */
async function authorize(): Promise<Operation> {
  const authentication = {
    index: { find: findVerdict(), problem: () => undefined },
    clock: Date,
  };
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

function findVerdict(): Verdicts['find'] {
  const records = new CredentialRecords();
  const now = Date.now();
  for (const key of storedKeys(0, keys, { now }))
    records.ofKind.OwnedAccessKey.upsert(toLiveRecord(key, 'OwnedAccessKey'));
  const verdicts = new Verdicts({
    records,
    targets: new TargetRecords('p-'),
    projectNamespacePrefix: 'p-',
    now: Date.now,
    locks: new Locks(),
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
