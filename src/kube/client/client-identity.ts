import { constants, createHash } from 'node:crypto';

export interface TlsIdentity {
  readonly ca?: Buffer | string;
  readonly cert?: Buffer | string;
  readonly key?: Buffer | string;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
  readonly ciphers?: string;
  readonly ecdhCurve?: string;
  readonly minVersion?: 'TLSv1.2';
  readonly secureOptions?: number;
}

/** The server, and the credentials for it, at one moment. */
export interface ClientIdentity {
  readonly server: URL;
  readonly tls: TlsIdentity;
  /** Name and value in turn. */
  readonly headers: readonly string[];
  /** Two identities with the same value can share connections. */
  readonly connectionKey: string;
}

/** Where a transport takes its identity from, before each request. */
export interface IdentitySource {
  current(): ClientIdentity | Promise<ClientIdentity>;
  /** After a 401. True when there is another identity to try. */
  refreshed(refused: ClientIdentity): Promise<boolean>;
}

export function makeIdentity(server: URL, tls: TlsIdentity, headers: readonly string[]): ClientIdentity {
  return { server, tls, headers, connectionKey: connectionKeyOf(server, tls) };
}

/**
 * The same towards a server that others chose. It would choose the group of a DHE suite itself, and one of ten thousand
 * bits takes a second of the only thread at each handshake: nothing but elliptic curves of known size is offered. Nor may it ask
 * for one handshake after the other, as a server can in TLS 1.2.
 */
export function hardenedTls(identity: ClientIdentity): ClientIdentity {
  return { ...identity, tls: { ...identity.tls, ...cheapHandshakes } };
}

const cheapHandshakes = {
  minVersion: 'TLSv1.2',
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  ciphers:
    'TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:ECDHE+AESGCM:ECDHE+CHACHA20',
  ecdhCurve: 'X25519:prime256v1:secp384r1:secp521r1',
} as const;

/** An identity that never changes. */
export function fixedIdentity(identity: ClientIdentity): IdentitySource {
  return { current: () => identity, refreshed: async () => false };
}

function connectionKeyOf(server: URL, tls: TlsIdentity): string {
  const hash = createHash('sha256').update(server.href);
  for (const part of [tls.ca, tls.cert, tls.key]) hash.update('\0').update(part ?? '');
  return hash.update(`\0${tls.servername}\0${tls.rejectUnauthorized}`).digest('base64');
}
