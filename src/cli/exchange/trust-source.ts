import type { Source } from '../credential/renewal.ts';
import { isAccepted } from '../credential/sources.ts';
import type { Platform } from '../gateway/platform.ts';
import type { Context } from '../shared/context.ts';
import { findSubjectToken } from './subject-tokens.ts';
import { exchangeToken } from './token-exchange.ts';

/** A child of an access key that trusts the issuer of this pipeline or workload. */
export function trustSource(gateway: Platform, trust: string, context: Context): Source {
  return {
    version: '',
    isRenewable: true,
    isAccepted: async (key) => await isAccepted(gateway, key),
    obtain: async () => {
      const token = await findSubjectToken(gateway.connection.baseURL, context);
      return await exchangeToken(gateway, { token, type: 'jwt', trust }, context.now, 5_000);
    },
  };
}
