import { checkAccessKey } from '../../credentials/keys/access-key.ts';
import type { Context } from '../shared/context.ts';
import { Failure, usage } from '../shared/failure.ts';
import { readPrivate } from './private-file.ts';

/** A key as people paste it: without what editors and shells put around it. Throws a Failure for what is none. */
export function readKey(text: string, place: string): string {
  const key = text.trim().replace(/^Bearer\s+/i, '');
  const problem = problemOf(key);
  if (problem === undefined) return key;
  throw usage(`${place} holds no key: ${problem[0]}`, problem[1]);
}

const copyAgain = 'Copy the whole key again: it begins with `lk_` and has 52 characters.';

function problemOf(key: string): readonly [problem: string, fix: string] | undefined {
  if (key === '') return ['it is empty', 'A variable may not be set, or a command before the pipe failed.'];
  if (/\s/.test(key)) return ['there are spaces or lines in it', 'Give the key alone.'];
  if (/^["'].*["']$/.test(key)) return ['there are quotes around it', 'Take the quotes away.'];
  if (/^sha256:/.test(key))
    return ['this is its hash', 'The key itself is shown once, when it is made. Make or rotate a key.'];
  if (/^bGtf/.test(key)) return ['it is still in base64', 'Decode it: `base64 -d`.'];
  if (key.startsWith('{')) return ['this is JSON', 'Take the value of spec.key: `jq -r .spec.key`.'];
  return checkAccessKey(key) === 'malformed' ? ['it is not whole', copyAgain] : undefined;
}

/** Reads a key from standard input. Throws a Failure, also where a terminal is there: a key that is typed can be read on the screen. */
export async function readKeyFromInput({ stdin }: Pick<Context, 'stdin'>, command: string): Promise<string> {
  if (stdin.isTTY)
    throw usage('no key came on standard input', `Pipe it: \`latchkey ${command} < key-file\`.`);
  return readKey(await stdin.read(), 'standard input');
}

/** Throws a Failure. */
export function readKeyFile(file: string, { platform }: Pick<Context, 'platform'>): string {
  const text = readPrivate(file, platform);
  if (text === undefined)
    throw new Failure('usage', `there is no file ${file}`, 'Give the path of a file that holds the key.');
  return readKey(text, file);
}

/** Whether a word of a command line is a key, or was meant to be one: others on the machine see it in the list of processes. */
export const looksLikeKey = (word: string): boolean => /(?:^|[=\s"'])lk_[0-9A-Za-z]{12,}/.test(word);
