import { expect } from 'vitest';
import { entryOf, type Stored, secretAt } from '../../../lab/operator/api.ts';
import type { World } from '../../../lab/operator/world.ts';
import { credentialHash } from '../../../src/credentials/keys/credential-hash.ts';

/** An access key whose text is in the Secret of its name. */
export async function createInSecret(world: World, word: string): Promise<Stored> {
  const name = world.name(word);
  return await world.admin.createKey({ user: 'alice', secretRef: { namespace: 'default', name } }, { name });
}

/** It was issued once, and its Secret holds what status confirms. Resolves with its status. */
export async function expectWhole({ admin }: World, key: Stored): Promise<Stored['status']> {
  const { status } = await admin.get(key);
  const secret = await admin.get(secretAt('default', key.metadata.name));
  expect([status.serial, credentialHash(entryOf(secret, 'key'))]).toEqual([1, status.credentialHash]);
  return status;
}
