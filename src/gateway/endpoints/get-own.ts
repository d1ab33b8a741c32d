import { type AcceptedForm, readAccept } from './accepted-form.ts';
import { readOldestVersion } from './list-options.ts';
import { untilVersion } from './list-version.ts';
import { findOwn, notFound, type OwnRequest } from './own-request.ts';
import { readInForm, shownAs } from './read-own.ts';
import { refuse } from './refusal.ts';
import type { Reply } from './reply.ts';

/** One object of one's own. */
export async function getOwn(request: OwnRequest): Promise<Reply> {
  await untilVersion(request, readOldestVersion(request.query));
  const record = findOwn(request);
  if (record === undefined) throw notFound(request);
  const form = formFor(request);
  const found = await readInForm(request, record, form);
  if (found === undefined) throw notFound(request);
  return { status: 200, body: shownAs(found, form, request.query) };
}

/** The form that the client takes. Throws a Refusal. */
export const formFor = ({ request }: OwnRequest): AcceptedForm =>
  readAccept(request.headers.accept) ?? refuse('ERR_NOT_ACCEPTABLE', {});
