import { randomBytes } from 'node:crypto';
import { asObject, asText } from '../../api/json.ts';
import { annotations } from '../../api/names.ts';
import { accessKeyBytes, generateAccessKey } from '../../credentials/keys/access-key.ts';
import { credentialHash } from '../../credentials/keys/credential-hash.ts';
import type { Platform } from '../gateway/platform.ts';
import { connect, connectionOptions } from '../session/connection.ts';
import { findSession, keepSession } from '../session/sessions.ts';
import type { CommandSpec, Context, Invocation } from '../shared/context.ts';
import { deliverKey, writeKeyOption } from './keys-create.ts';

const patch = (body: object) => ({ method: 'PATCH', body, contentType: 'application/merge-patch+json' });
export const pathOfKey = (name: string): string => `ownedaccesskeys/${encodeURIComponent(name)}`;

export const keysRotate: CommandSpec = {
  name: 'keys rotate',
  summary: 'Replaces the key of an access key, and prints the new one once',
  details: [
    'The new key is made on this machine, and only its hash is sent. The old key ends at once. Everything below the access key keeps working.',
    'If the key is kept in a Secret (`spec.secretRef`), the operator makes the new one, and writes it there.',
  ],
  arguments: [{ name: 'name', about: 'The access key.' }],
  options: { ...writeKeyOption, ...connectionOptions },
  examples: [
    {
      about: 'Into the file that a pipeline reads',
      command: 'latchkey keys rotate shop-ci --write-key shop-ci.key',
    },
    {
      about: 'Straight on to another program',
      command: 'latchkey keys rotate shop-ci | vault kv put secret/shop-ci key=-',
    },
  ],
  run: rotate,
};

async function rotate(invocation: Invocation, context: Context): Promise<undefined> {
  const [name = ''] = invocation.positionals;
  const gateway = connect(invocation, context);
  const found = await gateway.own(pathOfKey(name));
  const { secretRef } = asObject(found['spec']);
  if (secretRef !== undefined && secretRef !== null) return await rotateInSecret(gateway, name, context);
  const key = generateAccessKey(randomBytes(accessKeyBytes));
  await gateway.own(pathOfKey(name), patch({ spec: { key: `sha256:${credentialHash(key)}` } }));
  const session = findSession(context, gateway.connection.baseURL);
  if (session?.name === name && session.key === gateway.connection.key)
    keepSession(context, { ...session, key });
  deliverKey(key, invocation, context);
  context.stderr.write(`The access key ${name} has a new key; the old one is refused.\n`);
  return undefined;
}

async function rotateInSecret(gateway: Platform, name: string, { now, stderr }: Context): Promise<undefined> {
  const metadata = { annotations: { [annotations.rotate]: new Date(now()).toISOString() } };
  const { spec } = await gateway.own(pathOfKey(name), patch({ metadata }));
  const { namespace, name: secret } = asObject(asObject(spec)['secretRef']);
  stderr.write(`The new key of ${name} goes to the Secret ${asText(secret)} in ${asText(namespace)}.\n`);
  return undefined;
}

const names = [{ name: 'name', about: 'The access keys.', isRest: true }] as const;

export const keysDisable: CommandSpec = {
  name: 'keys disable',
  summary: 'Makes access keys refused, and keeps them',
  details: [
    'A disabled key and everything below it is refused at once. Its owner can enable it again: set `disabled: false`.',
    'A key that has ended is disabled already, until somebody gives it a longer `ttl`. Delete it if it is to stay refused.',
  ],
  arguments: names,
  options: connectionOptions,
  examples: [
    { about: 'One', command: 'latchkey keys disable shop-ci' },
    { about: 'Several', command: 'latchkey keys disable shop-ci shop-nightly' },
  ],
  run: async (invocation, context) => {
    const gateway = connect(invocation, context);
    for (const name of invocation.positionals) {
      const { status } = await gateway.own(pathOfKey(name), patch({ spec: { disabled: true } }));
      context.stderr.write(`The access key ${name} is refused, and everything below it.\n`);
      // The API server stores no change here, so no one could tell later that a person wanted this.
      if (asObject(status)['disabledByExpiry'] !== undefined)
        context.stderr.write(
          `It had ended before, and a longer ttl brings it back. For good: latchkey keys delete ${name}\n`,
        );
    }
    return undefined;
  },
};

export const keysDelete: CommandSpec = {
  name: 'keys delete',
  summary: 'Deletes access keys, and with them everything below them',
  details: ['A deleted key is refused at once, and never comes back. Its children are refused too.'],
  arguments: names,
  options: connectionOptions,
  examples: [
    { about: 'One', command: 'latchkey keys delete shop-ci' },
    { about: 'Several', command: 'latchkey keys delete shop-ci shop-nightly' },
  ],
  run: async (invocation, context) => {
    const gateway = connect(invocation, context);
    for (const name of invocation.positionals) {
      await gateway.own(pathOfKey(name), { method: 'DELETE' });
      context.stderr.write(`The access key ${name} is deleted.\n`);
    }
    return undefined;
  },
};
