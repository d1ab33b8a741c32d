import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';

export interface AuthenticationConfiguration {
  readonly jwt: readonly [
    { readonly issuer: { readonly audiences: readonly string[] }; readonly [part: string]: unknown },
  ];
}

/** The name that the documents give to a cluster that takes tokens by itself. */
export const trustingClusterName = 'staging';
const document = path.resolve(import.meta.dirname, '../../docs/reference/trusting-clusters.md');

/** Reads the documented configuration, for the gateway at this address with a certificate of this authority (PEM). */
export function trustingConfiguration(baseURL: string, ca: string): AuthenticationConfiguration {
  const [, block = ''] = /^```yaml\n(.*?)^```/ms.exec(readFileSync(document, 'utf8')) ?? [];
  const configuration = parse(block.replaceAll('https://latchkey.example.com', baseURL));
  configuration.jwt[0].issuer.certificateAuthority = ca;
  return configuration;
}
