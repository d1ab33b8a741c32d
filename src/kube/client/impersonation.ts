import type { RequestTransport } from './transport.ts';

/** Who requests are for, when they are not for this process. */
export type Impersonation = ImpersonatedUser | ImpersonatedAccount;

interface ImpersonatedUser {
  readonly user: string;
  readonly groups: readonly string[];
  /** Lists of values by key, which is lower case: the API server would make it so. */
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

interface ImpersonatedAccount {
  readonly serviceAccount: { readonly namespace: string; readonly name: string };
}

/** Sends every request for somebody; nested, the outermost counts. Throws a TypeError for a name that no request may carry. */
export function impersonating(transport: RequestTransport, who: Impersonation): RequestTransport {
  const headers = impersonationHeaders(who);
  return {
    send: (request) => transport.send({ headers, ...request }),
    stream: (request) => transport.stream({ headers, ...request }),
    overOneConnection: () => {
      const single = transport.overOneConnection();
      return { ...impersonating(single, who), close: () => single.close() };
    },
    // The connections are those of the process, which closes them itself.
    close: async () => undefined,
  };
}

/**
 * Name and value in turn. Without a user a request would run as this process itself, so there always is one; reserved
 * names stand for the control plane and for all rights, so they never go out.
 */
export function impersonationHeaders(who: Impersonation): readonly string[] {
  if ('serviceAccount' in who) return ['impersonate-user', accountName(who.serviceAccount)];
  const { user, groups, extra = {} } = who;
  checkName('user', user);
  for (const group of groups) if (group !== 'system:authenticated') checkName('group', group);
  return [
    'impersonate-user',
    user,
    ...groups.flatMap((group) => ['impersonate-group', group]),
    ...Object.entries(extra).flatMap(([key, values]) => extraHeaders(key, values)),
  ];
}

/** The API server adds the groups of the account by itself. */
function accountName({ namespace, name }: ImpersonatedAccount['serviceAccount']): string {
  if (!/^[a-z0-9-]+$/.test(namespace) || !/^[a-z0-9.-]+$/.test(name))
    throw new TypeError('this is no name of a ServiceAccount');
  return `system:serviceaccount:${namespace}:${name}`;
}

function checkName(what: string, name: string): void {
  if (name === '') throw new TypeError(`the ${what} to impersonate is empty`);
  if (/^(system|kubeadm):/.test(name)) throw new TypeError(`the ${what} to impersonate is a reserved one`);
  checkText(what, name);
}

/** Anything else does not arrive as it was sent: bytes change their meaning, and spaces at the ends go. */
function checkText(what: string, text: string): void {
  if (/[^\x20-\x7e]/.test(text) || text.trim() !== text)
    throw new TypeError(`the ${what} to impersonate holds characters that headers do not carry`);
}

function extraHeaders(key: string, values: readonly string[]): string[] {
  if (key === '' || key !== key.toLowerCase() || /[^\x21-\x7e]/.test(key))
    throw new TypeError('the key of an extra to impersonate is not lower case and printable');
  for (const value of values) checkText('value of an extra', value);
  // `encodeURIComponent` leaves parentheses, which no name of a header has.
  const name = `impersonate-extra-${encodeURIComponent(key).replaceAll('(', '%28').replaceAll(')', '%29')}`;
  return values.flatMap((value) => [name, value]);
}
