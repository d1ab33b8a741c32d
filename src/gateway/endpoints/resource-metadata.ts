import type { GatewaySettings } from '../../settings/gateway.ts';
import { toPublicDocument } from './public-document.ts';
import type { PublicDocument } from './shared/endpoint.ts';

/** Of RFC 9728, below the base URL. */
export const resourceMetadataPath = '/.well-known/oauth-protected-resource';

/** It changes with a restart only. */
const maxAgeSeconds = 300;

/**
 * Says where people log in, and as which client. Issuers of pipelines alone are not in it: their names tell strangers where the code of
 * a site is.
 */
export function resourceMetadata({
  baseURL,
  trustedIssuers,
}: Pick<GatewaySettings, 'baseURL' | 'trustedIssuers'>): PublicDocument {
  const clients = trustedIssuers.flatMap(({ issuer, login }) =>
    login === undefined ? [] : [[issuer, login.clientID] as const],
  );
  const document = {
    resource: baseURL,
    // The RFC wants no empty list.
    ...(clients.length === 0 ? {} : { authorization_servers: clients.map(([issuer]) => issuer) }),
    bearer_methods_supported: ['header'],
    ...clientsOf(clients),
  };
  return toPublicDocument(JSON.stringify(document), { contentType: 'application/json', maxAgeSeconds });
}

/** The RFC has no name for them. */
function clientsOf(clients: readonly (readonly [issuer: string, clientID: string])[]): object {
  const [first] = clients;
  if (first === undefined) return {};
  if (clients.length === 1) return { latchkey_client_id: first[1] };
  return { latchkey_client_ids: Object.fromEntries(clients) };
}
