/** A request that changes something, as it stands on the wire. */
export interface Write {
  readonly method: string;
  readonly plural: string;
  readonly namespace?: string;
  /** Empty where the API server chooses the name. */
  readonly name: string;
  readonly subresource?: string;
  // biome-ignore lint/suspicious/noExplicitAny: the JSON that was sent, looked into by assertions.
  readonly body: any;
}

/** `/api/v1/…` or `/apis/<group>/<version>/…`, then an optional namespace, the plural, the name and the subresource. */
const pattern =
  /^\/(?:api\/v1|apis\/[^/]+\/[^/]+)\/(?:namespaces\/(?<namespace>[^/]+)\/)?(?<plural>[a-z]+)(?:\/(?<name>[^/]+))?(?:\/(?<subresource>[^/]+))?$/;

/** Reads a request to the API server. @throws TypeError when it is none about an object. */
export function writeOf(method: string, target: string, body: string): Write {
  const { pathname } = new URL(target, 'https://api');
  const parts = pattern.exec(pathname)?.groups;
  if (parts === undefined) throw new TypeError(`no object is meant by ${method} ${pathname}`);
  const { namespace, plural = '', name, subresource } = parts;
  // Nothing is looked for in other forms, such as the Protocol Buffers of client-go.
  const parsed = /^[{[]/.test(body) ? JSON.parse(body) : undefined;
  return {
    method,
    plural,
    name: name === undefined ? (parsed?.metadata?.name ?? '') : decodeURIComponent(name),
    body: parsed,
    ...(namespace === undefined ? {} : { namespace }),
    ...(subresource === undefined ? {} : { subresource }),
  };
}

/** In short: `PATCH ownedaccesskeys/status`. */
export const outlineOf = ({ method, plural, subresource }: Write): string =>
  `${method} ${plural}${subresource === undefined ? '' : `/${subresource}`}`;
