import { beforeAll, describe, expect, it } from 'vitest';
import type { Resource } from '../../../src/api/resources.ts';
import { type ApiAnswer, type ApiClient, contentTypes } from '../admission/api-client.ts';
import { pathOf, type TestObject, unreadObjectOf } from '../admission/objects.ts';
import { admissionWorld, create, expectOk, read, type World } from '../admission/world.ts';
import { notTheirsTo, withoutNames } from './answers.ts';
import { type People, type Person, peopleOf } from './people.ts';

/** Ways to send one and the same change. `JSON patch` takes `patch`, all others `change`. */
export type Flavour = 'PUT' | 'JSON patch' | 'merge patch' | 'apply' | 'forced apply';

export type Attempt =
  | { readonly verb: 'create'; readonly flavour?: 'POST' | 'apply' | 'generateName' }
  | { readonly verb: 'update'; readonly flavour: Flavour; readonly subresource?: 'status' }
  | { readonly verb: 'delete'; readonly dryRun?: boolean }
  | { readonly verb: 'deletecollection'; readonly dryRun?: boolean };

export interface Row {
  /** A sentence after the name of the person: `alice may not …`. */
  readonly does: string;
  readonly who: Person;
  readonly resource: Resource;
  readonly attempt: Attempt;
  /** The object there before, who made it, and whether it is being deleted; absent: none. */
  readonly before?: { readonly by: Person; readonly deleting?: boolean } & Content;
  /** The content to send. An update sends the stored object with these fields of spec and metadata in it; null drops a field. */
  readonly content?: Content;
  /** Operations of a JSON patch, instead of `content`. */
  readonly patch?: readonly object[];
  /**
   * 'allowed', 'not theirs' in the words for that person, or the code and the exact message of the policy (or a part of it, for
   * a message of the schema).
   */
  readonly answer:
    | 'allowed'
    | 'not theirs'
    | readonly [code: 403 | 404 | 409 | 422, message: string | RegExp];
  /** The exact texts of the warnings that come with the answer; absent: any. */
  readonly warnings?: readonly string[];
}

export interface Content {
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** Sends every row to the real API server as that person, and looks that a refusal changed nothing. */
export function describeRows(
  title: string,
  rows: readonly Row[],
  prepare?: (world: World) => Promise<void>,
): void {
  describe(title, async () => {
    const world = await admissionWorld();
    const people = await peopleOf(world);
    const rehearsed = rehearsedOf(rows);
    beforeAll(async () => await prepare?.(world));

    it.each(rows.map((row) => [`${row.who} ${row.does}`, row] as const))('%s', async (_, row) => {
      const before = await storedBefore(people, row);
      const attempt = async (query: Query): Promise<void> => {
        const answer = await send(people[row.who], row, before, query);
        expectAnswer(answer, row);
        if (row.warnings !== undefined) expect(answer.warnings).toEqual(row.warnings);
        if (row.answer !== 'allowed' && before !== undefined)
          expect((await read(world, before)).metadata['resourceVersion']).toBe(
            before.metadata['resourceVersion'],
          );
      };
      if (rehearsed.has(row)) await attempt({ dryRun: 'All' });
      await attempt('dryRun' in row.attempt && row.attempt.dryRun ? { dryRun: 'All' } : {});
    });
  });
}

/**
 * Rows that are also sent as a dry run first, which must be answered alike: the first of each kind, verb and answer. A rule
 * that judged dry runs otherwise would do so for every row.
 */
function rehearsedOf(rows: readonly Row[]): ReadonlySet<Row> {
  const sent = rows.filter(({ attempt }) => !attempt.verb.startsWith('delete'));
  const first = new Map(
    sent.toReversed().map((row) => [`${row.resource.kind} ${row.attempt.verb} ${answerOf(row)}`, row]),
  );
  return new Set(first.values());
}

type Query = Readonly<Record<string, string>>;

async function storedBefore(people: People, { before, resource }: Row): Promise<TestObject | undefined> {
  if (before === undefined) return undefined;
  const created = await create(people[before.by], unreadObjectOf(resource, before.spec, before.metadata));
  if (before.deleting !== true) return created;
  return expectOk(await people.master.send('DELETE', pathOf(resource, created.metadata.name)));
}

const answerOf = ({ who, answer }: Row) => (answer === 'not theirs' ? notTheirsTo(who) : answer);

function expectAnswer({ status, body }: ApiAnswer, row: Row): void {
  const expected = answerOf(row);
  if (expected === 'allowed') {
    expect({ status, message: body.kind === 'Status' ? body.message : undefined }).toEqual({
      status: expect.toSatisfy((code: number) => code < 300),
      message: undefined,
    });
    return;
  }
  const [code, message] = expected;
  expect({ status, said: withoutNames(String(body.message)) }).toEqual({
    status: code,
    said: typeof message === 'string' ? message : expect.stringMatching(message),
  });
}

async function send(
  client: ApiClient,
  row: Row,
  before: TestObject | undefined,
  query: Query,
): Promise<ApiAnswer> {
  const { attempt, resource } = row;
  if (attempt.verb === 'create') return await sendNew(client, row, attempt.flavour ?? 'POST', query);
  if (before === undefined) throw new TypeError('this row needs an object that stands there before');
  if (attempt.verb === 'update') return await sendChange(client, row, before, query);
  const { name } = before.metadata;
  if (attempt.verb === 'delete') return await client.send('DELETE', pathOf(resource, name), { query });
  const fieldSelector = `metadata.name=${name}`;
  return await client.send('DELETE', pathOf(resource), { query: { ...query, fieldSelector } });
}

async function sendNew(
  client: ApiClient,
  { resource, content = {} }: Row,
  flavour: 'POST' | 'apply' | 'generateName',
  query: Query,
): Promise<ApiAnswer> {
  const body = unreadObjectOf(resource, content.spec, content.metadata);
  if (flavour === 'POST') return await client.send('POST', pathOf(resource), { body, query });
  if (flavour === 'generateName') {
    const { name: _, ...metadata } = body.metadata;
    const unnamed = { ...body, metadata: { ...metadata, generateName: 'row-' } };
    return await client.send('POST', pathOf(resource), { body: unnamed, query });
  }
  return await client.send('PATCH', pathOf(resource, body.metadata.name), {
    body,
    contentType: contentTypes.apply,
    query: { ...query, fieldManager: 'row' },
  });
}

async function sendChange(client: ApiClient, row: Row, before: TestObject, query: Query): Promise<ApiAnswer> {
  const { attempt, resource, content = {}, patch } = row;
  if (attempt.verb !== 'update') throw new TypeError('this row changes nothing');
  const path = pathOf(resource, before.metadata.name, attempt.subresource);
  const change = { spec: content.spec ?? {}, metadata: content.metadata ?? {} };
  switch (attempt.flavour) {
    case 'PUT':
      return await client.send('PUT', path, { body: merged(before, change), query });
    case 'JSON patch': {
      const body = patch ?? operations(change);
      return await client.send('PATCH', path, { body, contentType: contentTypes.jsonPatch, query });
    }
    case 'merge patch':
      return await client.send('PATCH', path, { body: change, contentType: contentTypes.mergePatch, query });
    default: {
      const { apiVersion, kind, metadata } = before;
      const { name, namespace } = metadata;
      const body = { apiVersion, kind, spec: change.spec, metadata: { ...change.metadata, name, namespace } };
      const force = attempt.flavour === 'forced apply' ? { force: 'true' } : {};
      return await client.send('PATCH', path, {
        body,
        contentType: contentTypes.apply,
        query: { ...query, ...force, fieldManager: 'row' },
      });
    }
  }
}

const operations = (change: Required<Content>): object[] =>
  (['metadata', 'spec'] as const).flatMap((part) =>
    Object.entries(change[part]).map(([field, value]) => ({ op: 'add', path: `/${part}/${field}`, value })),
  );

/** The object with these fields, without those that are null. */
function merged(before: TestObject, change: Required<Content>): object {
  const { managedFields: _, ...metadata } = before.metadata;
  const given = (fields: object): object =>
    Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
  return {
    ...before,
    metadata: given({ ...metadata, ...change.metadata }),
    spec: given({ ...before.spec, ...change.spec }),
  };
}
