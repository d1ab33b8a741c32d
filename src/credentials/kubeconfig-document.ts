import { stringify } from 'yaml';

/** How the holder proves itself; certificate and key are PEM. */
export type KubeConfigUser =
  | { readonly token: string }
  | { readonly certificate: string; readonly key: string };

export interface KubeConfigParts {
  /** An https URL without user info, query and fragment. */
  readonly server: string;
  /** PEM; absent: the server's certificate is one that the holder's system trusts. */
  readonly ca?: string;
  /** Of cluster, user and context; see `kubeConfigNames`. */
  readonly name: string;
  readonly user: KubeConfigUser;
}

/**
 * A kubeconfig that works as it is: one cluster, one user, one context, which is the current one. It is serialised from an object, so no
 * value can become anything but a value. Throws `RangeError` for a `server` that is no such URL; the message does not show it.
 */
export function kubeConfigDocument({ server, ca, name, user }: KubeConfigParts): string {
  const cluster = {
    server: serverOf(server),
    ...(ca !== undefined && { 'certificate-authority-data': base64(ca) }),
  };
  const document = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster }],
    users: [{ name, user: userOf(user) }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  };
  // kubectl reads YAML 1.1, where a plain `on` or `12:30` is no string. Folded lines and blocks would be more things to get wrong: a block
  // that begins with spaces comes back without them.
  return stringify(document, {
    version: '1.1',
    lineWidth: 0,
    blockQuote: false,
    aliasDuplicateObjects: false,
  });
}

/**
 * One name for cluster, user and context that no other object has, so that documents can be used together (`KUBECONFIG=a:b`):
 * `<namespace>/<instance>`, and `<namespace>/<instance>/<object>` when the object is not named as its instance.
 */
export function kubeConfigNames(of: {
  readonly namespace: string;
  readonly instance: string;
  readonly object: string;
}): string {
  const own = of.object === of.instance ? [] : [of.object];
  return [of.namespace, of.instance, ...own].join('/');
}

/** No user info, query, fragment, space or backslash: what the URL standard would repair, other readers might understand otherwise. */
const serverForm = /^https:\/\/[^/?#@\\\s\p{Cc}]+(?:\/[^?#\\\s\p{Cc}]*)?$/iu;

/** As the URL standard writes it, without a slash at the end. */
function serverOf(server: string): string {
  const url = serverForm.test(server) ? URL.parse(server) : null;
  if (url === null) throw new RangeError('server must be an https URL without user info, query and fragment');
  return url.href.replace(/\/$/, '');
}

function userOf(user: KubeConfigUser): object {
  if ('token' in user) return { token: user.token };
  return {
    'client-certificate-data': base64(user.certificate),
    'client-key-data': base64(user.key),
  };
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
