/**
 * The origin of a direct endpoint, from `spec.directEndpoint.host` of its Cluster. Profiles, Secrets and kubeconfigs have it in one form, as
 * URLs read, because the command line compares it. Undefined for more or other than a host and a port: it could lead a token elsewhere.
 */
export function endpointOrigin(host: string): string | undefined {
  const url = URL.parse(`https://${host}`);
  return url?.href === `https://${url?.host}/` ? url.origin : undefined;
}

/**
 * The authority of a direct endpoint, PEM, from `spec.directEndpoint.caData`; empty where clients trust it anyway. Undefined for what is
 * no PEM.
 */
export function endpointAuthority(caData: string | undefined): string | undefined {
  if (caData === undefined || caData === '') return '';
  const text = Buffer.from(caData, 'base64').toString('utf8');
  return /^-----BEGIN CERTIFICATE-----\r?$/m.test(text) ? text : undefined;
}
