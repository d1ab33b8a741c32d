import { afterEach, describe, expect, it } from 'vitest';
import { credentialObject, liveRecord } from '../../../../test/builders/credential-object.ts';
import { type GatewayStage, gatewayStage, verdictFor } from '../../../../test/builders/gateway-stage.ts';
import { waitFor } from '../../../../test/fakes/wait-for.ts';

const bearer = 'a-key-that-alice-chose-herself';
const keys = '/apis/management.platform.sh/v1/ownedaccesskeys';
let stage: GatewayStage;
afterEach(async () => await stage.close());

/** A gateway whose index is at version 1, and an API server with objects that the test changes. */
async function start() {
  const labels: Record<string, Record<string, string>> = { mine: {}, other: {} };
  const versions: Record<string, number> = { mine: 1, other: 1 };
  const partsOf = (name: string) => ({
    name,
    metadata: { labels: labels[name] ?? {}, resourceVersion: String(versions[name]) },
  });
  const answer = (body: object): string => {
    const text = JSON.stringify(body);
    return `HTTP/1.1 200 OK\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
  };
  stage = await gatewayStage((socket, text) => {
    const name = /\/ownedaccesskeys\/(\w+)/.exec(text)?.[1] ?? '';
    socket.write(answer(credentialObject(partsOf(name))));
  });
  stage.know(bearer, { ...verdictFor(), record: liveRecord({ name: 'self' }) });
  const store = stage.records.ofKind.OwnedAccessKey;
  for (const name of Object.keys(labels)) store.upsert(liveRecord(partsOf(name)));
  return {
    change: (name: string, given: Record<string, string>) => {
      labels[name] = given;
      versions[name] = (versions[name] ?? 0) + 1;
      store.upsert(liveRecord(partsOf(name)));
    },
    /** As the watch of the gateway brings it, or a list, whose items have no kind. */
    arrive: (name: string, isListed = false) => {
      versions[name] = (versions[name] ?? 0) + 1;
      const { apiVersion, kind, ...item } = credentialObject(partsOf(name));
      const object = isListed ? item : { apiVersion, kind, ...item };
      stage.records.arrivals.OwnedAccessKey.saw(object as never);
      store.upsert(liveRecord(partsOf(name)));
    },
    reads: (name: string) => stage.seen.join('').split(`GET ${keys}/${name} `).length - 1,
  };
}

interface Event {
  readonly type: string;
  readonly object: {
    readonly kind: string;
    readonly metadata: { readonly name: string; readonly labels?: object };
  };
}

/** Collects the events of a watch that goes on from version 1 while the test does its part. */
async function watched(query: string, meanwhile: () => Promise<void>): Promise<readonly Event[]> {
  const path = `/kubernetes/management${keys}?watch=true&resourceVersion=1&timeoutSeconds=1&${query}`;
  const head = [`GET ${path} HTTP/1.1`, 'Host: a', 'Connection: close', `Authorization: Bearer ${bearer}`];
  const sent = stage.send([...head, '', ''].join('\r\n'));
  await meanwhile();
  const lines = (await sent).match(/^\{"type":.*$/gm) ?? [];
  return lines.map((line) => JSON.parse(line));
}

/** The same, each event with the name of its object. */
const eventsOf = async (query: string, meanwhile: () => Promise<void>): Promise<readonly string[]> =>
  (await watched(query, meanwhile)).map(({ type, object }) => `${type} ${object.metadata.name}`);

describe('a watch that goes on from a list', () => {
  it('adds what begins to be selected, and deletes what ceases to be', async () => {
    const { change, reads } = await start();
    const events = await eventsOf('labelSelector=app%3Dshop', async () => {
      await waitFor('it knows what was selected', () => reads('other') === 1);
      change('mine', { app: 'shop' });
      await waitFor('it has seen that', () => reads('mine') === 2);
      change('mine', { app: 'other' });
      await waitFor('and that', () => reads('mine') === 3);
    });
    expect(events).toEqual(['ADDED mine', 'DELETED mine']);
  });

  it('says nothing of what was not selected and is not', async () => {
    const { change, reads } = await start();
    const events = await eventsOf('labelSelector=app%3Dshop', async () => {
      await waitFor('it knows what was selected', () => reads('other') === 1);
      change('mine', { app: 'other' });
      await waitFor('it has seen that', () => reads('mine') === 2);
    });
    expect(events).toEqual([]);
  });

  it('changes and deletes what was selected', async () => {
    const { change, reads } = await start();
    const events = await eventsOf('labelSelector=app%21%3Dshop', async () => {
      await waitFor('it knows what was selected', () => reads('other') === 1);
      change('mine', { app: 'other' });
      await waitFor('it has seen that', () => reads('mine') === 2);
      change('mine', { app: 'shop' });
      await waitFor('and that', () => reads('mine') === 3);
    });
    expect(events).toEqual(['MODIFIED mine', 'DELETED mine']);
  });

  it.each([
    ['few labels', 50, true],
    ['labels that take much memory for each watch', 100, false],
  ])('tells of the end of an object with %s', async (_, count, isTold) => {
    const { change, reads } = await start();
    const labels = Object.fromEntries(
      [...Array(count).keys()].map((index) => [`label-${index}`, 'x'.repeat(40)]),
    );
    const events = await watched('labelSelector=app%21%3Dshop', async () => {
      await waitFor('it knows what was selected', () => reads('other') === 1);
      change('mine', labels);
      await waitFor('it has seen that', () => reads('mine') === 2);
      change('mine', { app: 'shop' });
      await waitFor('and that', () => reads('mine') === 3);
    });
    const last = events.at(-1);
    expect(last).toMatchObject({ type: 'DELETED', object: { metadata: { name: 'mine' } } });
    expect(Object.keys(last?.object.metadata.labels ?? {})).toHaveLength(isTold ? count : 0);
  });

  it('sends what has just arrived without reading it', async () => {
    const { arrive, reads } = await start();
    const events = await eventsOf('labelSelector=app%21%3Dshop', async () => {
      await waitFor('it knows what was selected', () => reads('other') === 1);
      arrive('mine');
    });
    expect([events, reads('mine')]).toEqual([['MODIFIED mine'], 1]);
  });

  it('names the kind of what has arrived in a list', async () => {
    const { arrive, reads } = await start();
    const events = await watched('labelSelector=app%21%3Dshop', async () => {
      await waitFor('it knows what was selected', () => reads('other') === 1);
      arrive('mine', true);
    });
    expect([events.map(({ object }) => object.kind), reads('mine')]).toEqual([['OwnedAccessKey'], 1]);
  });

  it('of one name reads and says nothing about another one', async () => {
    const { change, reads } = await start();
    const events = await eventsOf('fieldSelector=metadata.name%3Dmine', async () => {
      await waitFor('it knows what was selected', () => reads('mine') === 1);
      change('other', { a: 'b' });
      change('mine', { a: 'b' });
      await waitFor('it has seen that', () => reads('mine') === 2);
    });
    expect([events, reads('other')]).toEqual([['MODIFIED mine'], 0]);
  });
});
