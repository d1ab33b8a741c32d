import type { RequestTransport } from './transport.ts';

const form = (kind: string): string => `application/json;as=${kind};v=v1;g=meta.k8s.io`;
const ofList = ['accept', form('PartialObjectMetadataList')];
const ofObject = ['accept', form('PartialObjectMetadata')];

/** Lists and watches bring `metadata` alone: what else an object holds may be large, and others write it. */
export function metadataOnly(transport: RequestTransport): RequestTransport {
  return {
    send: (request) => transport.send({ ...request, headers: [...ofList, ...(request.headers ?? [])] }),
    stream: (request) => transport.stream({ ...request, headers: [...ofObject, ...(request.headers ?? [])] }),
    overOneConnection: () => {
      const single = transport.overOneConnection();
      return { ...metadataOnly(single), close: () => single.close() };
    },
    // The connections are those of the process, which closes them itself.
    close: async () => undefined,
  };
}
