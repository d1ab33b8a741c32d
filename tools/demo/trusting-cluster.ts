import { rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { stringify } from 'yaml';
import type { ControlPlaneAccess } from '../../lab/controlplane/access.ts';
import { authenticationFile } from '../../lab/controlplane/files.ts';
import { trustingConfiguration } from '../../lab/gateway/trusting-configuration.ts';
import type { DemoGateway } from './gateway.ts';

/** For an API server that starts before there is a gateway. */
export const noIssuer = {
  apiVersion: 'apiserver.config.k8s.io/v1',
  kind: 'AuthenticationConfiguration',
  jwt: [],
};

/** Has the API server take tokens of the issuer by itself. It notices within seconds. */
export async function trustGateway(
  { folder }: ControlPlaneAccess,
  { baseURL, running }: DemoGateway,
): Promise<void> {
  const file = path.join(folder, authenticationFile);
  // Half a file would be refused.
  await writeFile(`${file}.new`, stringify(trustingConfiguration(baseURL, running.ca)));
  await rename(`${file}.new`, file);
}
