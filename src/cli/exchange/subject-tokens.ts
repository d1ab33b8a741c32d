import { readFileSync } from 'node:fs';
import { asObject, asText, parseJSON } from '../../api/json.ts';
import type { Context } from '../shared/context.ts';
import { Failure, usage } from '../shared/failure.ts';

/** Where a Pod finds its token, when it is projected as docs/reference/command-line.md shows. */
const projectedToken = '/var/run/secrets/latchkey/token';

type Surroundings = Pick<Context, 'env' | 'send' | 'signal'>;

/** The token that this pipeline or workload is known by. Throws a Failure. */
export async function findSubjectToken(audience: string, context: Surroundings): Promise<string> {
  const { env } = context;
  const { LATCHKEY_ID_TOKEN: token, LATCHKEY_ID_TOKEN_FILE: file } = env;
  if (token) return checked(token, 'LATCHKEY_ID_TOKEN');
  if (file) return checked(readToken(file, true), file);
  const { ACTIONS_ID_TOKEN_REQUEST_URL: url, ACTIONS_ID_TOKEN_REQUEST_TOKEN: bearer } = env;
  if (url && bearer) return await askGitHub(url, bearer, { audience, context });
  if (env['GITHUB_ACTIONS'] === 'true')
    throw usage(
      'this job may not ask GitHub for a token',
      'Add `permissions: { id-token: write }` to the job.',
    );
  if (env['GITLAB_CI'] === 'true')
    throw usage(
      'this job has no LATCHKEY_ID_TOKEN',
      `Add \`id_tokens: { LATCHKEY_ID_TOKEN: { aud: ${audience} } }\` to the job.`,
    );
  const projected = readToken(projectedToken, false);
  if (projected !== '') return checked(projected, projectedToken);
  throw usage(
    'there is no token to exchange',
    'Set LATCHKEY_ID_TOKEN or LATCHKEY_ID_TOKEN_FILE, or run in a pipeline that gives out tokens.',
  );
}

function checked(text: string, place: string): string {
  const token = text.trim();
  if (/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return token;
  throw usage(`${place} holds no token`, 'It must be a JWT: three parts with dots between them.');
}

function readToken(file: string, isNeeded: boolean): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (!isNeeded) return '';
    throw new Failure('usage', `the token file ${file} cannot be read`, 'Give a file that you may read.', {
      cause: error,
    });
  }
}

interface Asking {
  readonly audience: string;
  readonly context: Surroundings;
}

async function askGitHub(url: string, bearer: string, { audience, context }: Asking): Promise<string> {
  const asked = URL.parse(url);
  if (asked === null) throw usage('ACTIONS_ID_TOKEN_REQUEST_URL is no URL', 'Leave it as GitHub sets it.');
  asked.searchParams.set('audience', audience);
  const { status, text } = await context.send({
    method: 'GET',
    url: asked.href,
    headers: { accept: 'application/json', authorization: `Bearer ${bearer}` },
    timeoutMs: 4_000,
    signal: context.signal,
  });
  const token = asText(asObject(parseJSON(text))['value']);
  if (status === 200 && token !== undefined) return checked(token, 'the answer of GitHub');
  throw new Failure(
    'unavailable',
    `GitHub gave no token for this job (it answers ${status})`,
    'Run the job again.',
  );
}
