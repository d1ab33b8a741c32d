import { parseArgs } from 'node:util';
import { stringify } from 'yaml';
import { exitCodes } from '../error-catalogue.ts';
import { LatchkeyError } from '../errors.ts';
import { webhookConfiguration } from '../gateway/direct-endpoint/webhook/configuration.ts';
import { allDirectEndpointSettings } from '../settings/direct-endpoint.ts';
import { readSettings } from '../settings/read.ts';
import { httpsOrigin } from '../settings/types.ts';
import type { Command } from './command.ts';
import { readPlatformCA } from './direct-endpoint.ts';

/** Prints one of the files for an API server that asks the webhook, as the settings of the direct endpoint make it. */
export const run: Command = async ({ environment, args = [], print }) => {
  const { url, folder, names } = readOptions(args);
  const { baseURL, cluster, agentFolder } = readSettings(allDirectEndpointSettings, environment);
  const platformCA = readPlatformCA(agentFolder);
  const files: Readonly<Record<string, object>> = webhookConfiguration({
    ...{ issuer: baseURL, cluster, url, folder },
    ...(platformCA === undefined ? {} : { platformCA }),
  });
  const [name = '', ...others] = names;
  const file = others.length === 0 && Object.hasOwn(files, name) ? files[name] : undefined;
  if (file === undefined) throw usage(`name one of ${Object.keys(files).join(', ')}`);
  print(stringify(file, { lineWidth: 0 }).trimEnd());
  return exitCodes.success;
};

interface Options {
  /** Where the API server reaches the webhook. */
  readonly url: string;
  /** Of the printed files, on the machine of the API server. */
  readonly folder: string;
  readonly names: readonly string[];
}

function readOptions(args: readonly string[]): Options {
  const { values, positionals: names } = parse(args);
  const url = httpsOrigin.parse(values.url);
  if ('problem' in url) throw usage(`--url ${url.problem}`);
  const { folder } = values;
  if (!/^\/.{1,1023}$/.test(folder)) throw usage('--folder must be an absolute path');
  return { url: url.value, folder, names };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        // An API server looks for it on its own machine.
        url: { type: 'string', default: 'https://127.0.0.1:8445' },
        folder: { type: 'string', default: '/etc/kubernetes/latchkey' },
      },
    });
  } catch (error) {
    throw usage(error instanceof Error ? error.message : 'cannot be read');
  }
}

const usage = (problem: string): LatchkeyError =>
  new LatchkeyError('ERR_USAGE', { problem: `direct-endpoint print-config: ${problem}` });
