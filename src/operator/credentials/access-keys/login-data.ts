/** Data of a Secret: base64 by entry name. */
export type LoginData = Readonly<Record<string, string>>;

type Fields = Readonly<Record<string, unknown>>;

const places = [
  ['identity', 'connectorData'],
  ['oidcLogin', 'idToken'],
  ['oidcLogin', 'accessToken'],
  ['oidcLogin', 'refreshToken'],
] as const;

export interface TakenLoginData {
  readonly data: LoginData;
  /** The merge patch of `spec` that removes what was taken. */
  readonly removal: Readonly<Record<string, Readonly<Record<string, null>>>>;
}

/** Finds the login data in a spec. Entries are named after the fields that they come from. */
export function takeLoginData(spec: object): TakenLoginData {
  const data: Record<string, string> = {};
  const removal: Record<string, Record<string, null>> = {};
  for (const [parent, field] of places) {
    const value = ((spec as Fields)[parent] as Fields | null | undefined)?.[field];
    if (typeof value !== 'string' || value === '') continue;
    data[field] = Buffer.from(value).toString('base64');
    removal[parent] = { ...removal[parent], [field]: null };
  }
  return { data, removal };
}
