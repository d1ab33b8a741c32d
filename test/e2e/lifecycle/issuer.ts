import { createLocalJWKSet, decodeProtectedHeader, type JWTPayload, jwtVerify } from 'jose';
import type { Api, Stored } from '../../../lab/operator/api.ts';
import { baseURL } from '../../../lab/operator/running-operator.ts';
import { until } from '../../../lab/operator/until.ts';
import { criticalScopes, group, systemNamespace, systemObjects } from '../../../src/api/names.ts';
import { configMaps, secrets } from '../../../src/api/resources.ts';
import type { KubeObject } from '../../../src/kube/object.ts';

interface PublishedDocuments extends KubeObject {
  readonly data: Readonly<Record<string, string>>;
}

export interface Claims extends JWTPayload {
  readonly groups: readonly string[];
  readonly [group]: {
    readonly object: { readonly kind: string; readonly name: string; readonly uid: string };
    readonly parent?: { readonly name: string; readonly uid: string };
    readonly scopes: readonly unknown[];
  };
}

/** The platform's documents about its tokens, and an administrator's way with the keys behind them. */
export class Issuer {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  /** The discovery document. */
  async discovery(): Promise<Record<string, unknown>> {
    return JSON.parse((await this.#published())['openid-configuration'] ?? '');
  }

  async keyIDs(): Promise<readonly string[]> {
    const { keys } = await this.#keySet();
    return keys.map(({ kid }) => kid);
  }

  /** Verifies with nothing but the published documents, as a cluster that knows only the issuer does. */
  async verify(token: string, audience = `${baseURL}/clusters`): Promise<Claims> {
    const { issuer } = await this.discovery();
    const keys = createLocalJWKSet(await this.#keySet());
    const { payload } = await jwtVerify<Claims>(token, keys, {
      issuer: String(issuer),
      audience,
      typ: 'JWT',
      algorithms: ['ES256'],
      crit: { [criticalScopes]: true },
      requiredClaims: ['iss', 'aud', 'sub', 'groups', 'iat', 'nbf', 'exp', 'jti', group],
    });
    return payload;
  }

  /**
   * Makes another key sign now, and ends no token: the dates in `keys.json` say that the present key is old, so the
   * operator makes and publishes the next one; once it is published, its date is moved to a second from now.
   */
  async rotate(): Promise<void> {
    const before = await this.keyIDs();
    await this.#editDates((dates) => {
      for (const kid of Object.keys(dates)) dates[kid] = { ...dates[kid], activeFrom: 0 };
    });
    const isNew = (kid: string) => !before.includes(kid);
    await this.#untilKeys('the next key is published', (kids) => kids.some(isNew));
    await this.#editDates((dates) => {
      for (const kid of Object.keys(dates).filter(isNew))
        dates[kid] = { ...dates[kid], activeFrom: Date.now() + 1_000 };
    });
  }

  /** Ends whatever this key has signed. */
  async revoke(kid: string): Promise<void> {
    await this.#api.patch(signingKeys, { data: { [`${kid}.pem`]: null } });
  }

  /** Ends every token there is. */
  async revokeAll(): Promise<void> {
    await this.#api.delete(signingKeys);
  }

  async #untilKeys(what: string, holds: (kids: readonly string[]) => boolean): Promise<void> {
    await until(what, async () => holds(await this.keyIDs()));
  }

  async #editDates(edit: (dates: Record<string, object>) => void): Promise<void> {
    const secret = await this.#api.get(signingKeys);
    const dates = JSON.parse(Buffer.from(secret.data?.['keys.json'] ?? '', 'base64').toString());
    edit(dates);
    const data = { 'keys.json': Buffer.from(JSON.stringify(dates)).toString('base64') };
    const { resourceVersion } = secret.metadata;
    await this.#api.client.mergePatch<Stored>(secrets, signingKeys.metadata, {
      metadata: { resourceVersion },
      data,
    });
  }

  async #keySet(): Promise<{ keys: { kid: string; kty: 'EC'; crv: string; x: string; y: string }[] }> {
    return JSON.parse((await this.#published())['jwks'] ?? '');
  }

  async #published(): Promise<PublishedDocuments['data']> {
    const key = { namespace: systemNamespace, name: systemObjects.discovery };
    return (await this.#api.client.get<PublishedDocuments>(configMaps, key)).data;
  }
}

export const signingKeyOf = (token: string): string => decodeProtectedHeader(token).kid ?? '';

const signingKeys = {
  kind: 'Secret',
  metadata: { namespace: systemNamespace, name: systemObjects.signingKeys },
};
