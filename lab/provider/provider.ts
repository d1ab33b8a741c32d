import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createAuthority, createServer } from '../controlplane/certificates.ts';
import type { Guard } from '../controlplane/guard.ts';
import { until } from '../operator/until.ts';

export interface ProviderOptions {
  /** Claims of the ID token, by login. */
  readonly people: Readonly<Record<string, object>>;
  /** How many seconds a device code lives, by client ID. */
  readonly clients: Readonly<Record<string, number>>;
  /** Origins of pages where people log in. */
  readonly pages?: readonly string[];
}

/** The OpenID provider of a site, over https on loopback. */
export interface OpenIDProvider {
  readonly issuer: string;
  /** PEM, and the path of a file with it. */
  readonly ca: string;
  readonly caFile: string;
  /** Of all people. Without it, everyone on this machine could log in as one of them. */
  readonly password: string;
  readonly pid: number;
  readonly log: () => Promise<string>;
}

/** Starts it as a process of the guard, which ends it. */
export async function startProvider(guard: Guard, options: ProviderOptions): Promise<OpenIDProvider> {
  const file = (name: string) => path.join(guard.folder, name);
  const [caFile, certificate, key] = ['provider-ca.crt', 'provider.crt', 'provider.key'].map(file) as [
    string,
    string,
    string,
  ];
  const authority = createAuthority('provider-ca');
  const served = createServer(authority, ['localhost']);
  await writeFile(caFile, authority.certificate);
  await writeFile(certificate, served.certificate);
  await writeFile(key, served.key, { mode: 0o600 });
  const password = randomBytes(9).toString('base64url');
  const { pid, logPath } = await guard.run({
    name: 'provider',
    command: process.execPath,
    args: [path.join(import.meta.dirname, 'serve.mjs')],
    env: { PROVIDER: JSON.stringify({ certificate, key, password, ...options }) },
  });
  const log = async () => await readFile(logPath, 'utf8');
  const said = async () => /^issuer (\S+)$/m.exec(await log()) ?? undefined;
  const [, issuer = ''] = await until('the provider listens', said);
  return { issuer, ca: authority.certificate, caFile, password, pid, log };
}
