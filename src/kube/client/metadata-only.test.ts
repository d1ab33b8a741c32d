import { describe, expect, it } from 'vitest';
import { metadataOnly } from './metadata-only.ts';
import type { RequestTransport, StreamRequest, TransportRequest } from './transport.ts';

const asked: (readonly string[] | undefined)[] = [];
const closed: string[] = [];

function transport(name: string): RequestTransport {
  return {
    send: async ({ headers }: TransportRequest) => {
      asked.push(headers);
      return { status: 200, headers: {}, body: '' };
    },
    stream: async ({ headers }: StreamRequest) => {
      asked.push(headers);
      throw new Error('no stream here');
    },
    overOneConnection: () => transport('single'),
    close: async () => void closed.push(name),
  };
}

const list = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
const object = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';
const sent = { method: 'GET', path: '/', timeoutMs: 1, maxBytes: 1, headers: ['a', 'b'] };
const streamed = { path: '/', query: '', signal: new AbortController().signal };

describe('a transport for metadata alone', () => {
  it.each([
    ['all connections', () => metadataOnly(transport('shared'))],
    ['one connection', () => metadataOnly(transport('shared')).overOneConnection()],
  ])('has lists and watches sent without what else objects hold, over %s', async (_, make) => {
    asked.length = 0;
    await make().send(sent);
    await expect(make().stream(streamed)).rejects.toThrow('no stream here');
    expect(asked).toEqual([
      ['accept', list, 'a', 'b'],
      ['accept', object],
    ]);
  });

  it('ends its own connection, and not those of others', async () => {
    const metadata = metadataOnly(transport('shared'));
    await metadata.close();
    await metadata.overOneConnection().close();
    expect(closed).toEqual(['single']);
  });
});
