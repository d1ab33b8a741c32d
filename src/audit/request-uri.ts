import { cut, decode, holdsSecret, isOrdinary, unescaped, withoutSecrets } from './text.ts';

/** Parameters that say what a request does. What a command is given, or a workload behind a proxy, may be a password. */
const kept: ReadonlySet<string> = new Set([
  ...['watch', 'follow', 'previous', 'timestamps', 'tailLines', 'limitBytes', 'sinceSeconds', 'sinceTime'],
  ...['limit', 'resourceVersion', 'resourceVersionMatch', 'sendInitialEvents', 'allowWatchBookmarks'],
  ...['timeoutSeconds', 'timeout', 'pretty', 'labelSelector', 'fieldSelector'],
  ...['dryRun', 'fieldManager', 'fieldValidation', 'force', 'propagationPolicy', 'gracePeriodSeconds'],
  ...['orphanDependents', 'container', 'stdin', 'stdout', 'stderr', 'tty', 'ports'],
]);
const maxValue = 256;

/** The path and those parameters of the query that hold no secret. */
export function requestURI(sent: string, max: number): string {
  // A whole URL may begin with a password.
  if (!sent.startsWith('/')) return '';
  if (isOrdinary(sent)) return cut(sent, max);
  const end = sent.indexOf('#');
  return cleanURI(end === -1 ? sent : sent.slice(0, end), max);
}

function cleanURI(sent: string, max: number): string {
  const mark = sent.indexOf('?');
  if (mark === -1) return cut(cleanPath(sent), max);
  return cut(cleanPath(sent.slice(0, mark)) + cleanQuery(sent.slice(mark + 1)), max);
}

/** Reads encoded letters as well: a key with one of them is a key. */
function cleanPath(path: string): string {
  if (decode(path) === undefined) return '/';
  const decoded = unescaped(path);
  return decoded !== path && holdsSecret(decoded) ? withoutSecrets(decoded) : withoutSecrets(path);
}

function cleanQuery(query: string): string {
  const pairs = query.split('&').filter(isKept);
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

function isKept(pair: string): boolean {
  const end = pair.indexOf('=');
  if (!kept.has(end === -1 ? pair : pair.slice(0, end)) || pair.length > maxValue) return false;
  return decode(pair) !== undefined && !holdsSecret(unescaped(pair));
}
