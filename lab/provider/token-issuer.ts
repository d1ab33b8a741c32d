import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { createAuthority, createServer as createServing } from '../controlplane/certificates.ts';

/** Signs tokens, and publishes its keys over https on loopback. Stop it. */
export class TokenIssuer {
  /** `https://localhost:<port>` */
  readonly issuer: string;
  /** PEM. */
  readonly certificateAuthority: string;
  /** Reads of the key set. */
  reads = 0;
  readonly #server: Server;
  readonly #key: CryptoKey;

  static async start(): Promise<TokenIssuer> {
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
    const keys = [{ ...(await exportJWK(publicKey)), kid: 'one', use: 'sig', alg: 'ES256' }];
    const authority = createAuthority('issuer-ca');
    const { certificate: cert, key } = createServing(authority, ['localhost']);
    const server = createServer({ cert, key });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const issuer = `https://localhost:${(server.address() as AddressInfo).port}`;
    const made = new TokenIssuer({ server, issuer, key: privateKey, ca: authority.certificate });
    server.on('request', (request, response) => {
      const isKeySet = request.url === '/keys';
      if (isKeySet) made.reads += 1;
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(isKeySet ? { keys } : { issuer, jwks_uri: `${issuer}/keys` }));
    });
    return made;
  }

  private constructor(parts: {
    readonly server: Server;
    readonly issuer: string;
    readonly key: CryptoKey;
    readonly ca: string;
  }) {
    this.issuer = parts.issuer;
    this.certificateAuthority = parts.ca;
    this.#server = parts.server;
    this.#key = parts.key;
  }

  /** A token of now for five minutes. */
  async sign(claims: JWTPayload, header: object = {}): Promise<string> {
    const iat = Math.floor(Date.now() / 1_000);
    return await new SignJWT({ iss: this.issuer, iat, exp: iat + 300, ...claims })
      .setProtectedHeader({ alg: 'ES256', kid: 'one', typ: 'JWT', ...header })
      .sign(this.#key);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
