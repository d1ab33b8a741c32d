import { formatInstant } from '../../api/instant.ts';
import { defined } from '../../api/json.ts';
import { findSubjectToken } from '../exchange/subject-tokens.ts';
import { exchangeToken } from '../exchange/token-exchange.ts';
import { Platform } from '../gateway/platform.ts';
import { outputOption, readForm } from '../output/output.ts';
import { toJSON, toYAML } from '../output/yaml.ts';
import { connectionOptions, readPlace } from '../session/connection.ts';
import { type CommandSpec, type Context, type Invocation, textOption } from '../shared/context.ts';
import { usage } from '../shared/failure.ts';
import { deliverKey, writeKeyOption } from './keys-create.ts';

const { 'key-file': _, ...placeOptions } = connectionOptions;

export const exchange: CommandSpec = {
  name: 'exchange',
  summary: 'For pipelines and workloads: exchanges their own token for a short-lived key',
  details: [
    'The token is taken from LATCHKEY_ID_TOKEN, LATCHKEY_ID_TOKEN_FILE, GitHub Actions, or /var/run/secrets/latchkey/token, in this order. Nothing is stored.',
  ],
  arguments: [],
  options: {
    trust: { type: 'string', value: 'KEY', about: 'The access key whose spec.exchange names the issuer.' },
    ...writeKeyOption,
    ...placeOptions,
    ...outputOption,
  },
  examples: [
    { about: 'A key for this job', command: 'latchkey exchange --trust ci-shop --write-key job.key' },
    { about: 'With its end, for a script', command: 'latchkey exchange --trust ci-shop -o json' },
  ],
  run,
};

async function run(invocation: Invocation, context: Context): Promise<undefined> {
  const form = readForm(invocation);
  const trust = textOption(invocation, 'trust');
  if (trust === undefined)
    throw usage('it is not said which access key trusts this token', 'Give `--trust KEY`.');
  const { session: _session, ...place } = readPlace(invocation, context);
  const gateway = new Platform(place, context);
  const token = await findSubjectToken(place.baseURL, context);
  const { key, end } = await exchangeToken(gateway, { token, type: 'jwt', trust }, context.now);
  const expirationTimestamp = end === undefined ? undefined : formatInstant(end);
  if (form === 'json') context.stdout.write(toJSON(defined({ key, expirationTimestamp })));
  else if (form === 'yaml') context.stdout.write(toYAML(defined({ key, expirationTimestamp })));
  else deliverKey(key, invocation, context);
  return undefined;
}
