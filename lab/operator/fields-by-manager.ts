import type { Stored } from './api.ts';

/** Paths of fields by who manages them. */
export function fieldsByManager({ metadata }: Stored): Readonly<Record<string, readonly string[]>> {
  const owned: Record<string, string[]> = {};
  for (const { manager = '', fieldsV1 = {} } of metadata.managedFields ?? []) {
    owned[manager] = [...(owned[manager] ?? []), ...leavesOf(fieldsV1)];
  }
  return owned;
}

function leavesOf(fields: object, at = ''): readonly string[] {
  const members = Object.entries(fields).filter(([name]) => name !== '.');
  if (members.length === 0) return [at];
  return members.flatMap(([name, below]) =>
    leavesOf(below as object, `${at}.${name.replace(/^[fkv]:/, '')}`),
  );
}
