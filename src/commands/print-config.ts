import { stringify } from 'yaml';
import { exitCodes } from '../error-catalogue.ts';
import { LatchkeyError } from '../errors.ts';
import { webhookConfiguration } from '../gateway/direct-endpoint/webhook/configuration.ts';
import { allDirectEndpointSettings } from '../settings/direct-endpoint.ts';
import { readSettings } from '../settings/read.ts';
import type { Command } from './command.ts';
import { readAuthority } from './direct-endpoint.ts';

/** Prints one of the files for an API server that asks the webhook, as the settings of the direct endpoint make it. */
export const run: Command = async ({ environment, args = [], print }) => {
  const {
    baseURL: issuer,
    cluster,
    webhookURL: url,
    webhookFolder: folder,
    ...settings
  } = readSettings(allDirectEndpointSettings, environment, {});
  const platformCA = readAuthority(settings.platformCAFile);
  const files: Readonly<Record<string, object>> = webhookConfiguration({
    ...{ issuer, cluster, url, folder },
    ...(platformCA === undefined ? {} : { platformCA }),
  });
  const [name = '', ...others] = args;
  const file = others.length === 0 && Object.hasOwn(files, name) ? files[name] : undefined;
  if (file === undefined) {
    const problem = `direct-endpoint print-config takes one of ${Object.keys(files).join(', ')}`;
    throw new LatchkeyError('ERR_USAGE', { problem });
  }
  print(stringify(file, { lineWidth: 0 }).trimEnd());
  return exitCodes.success;
};
