import type { Dispatcher } from 'undici';

/** The head of a request, without the empty line at the end. Throws a TypeError for what cannot stand in one. */
export function requestText(options: Dispatcher.DispatchOptions, host: string): string {
  const { method, path, headers } = options;
  if (!token.test(method) || !/^\/[\x21-\x7e]*$/.test(path))
    throw new TypeError('the request has a method or path that cannot be sent');
  // Some servers answer HEAD with a body, which would be taken for the next answer.
  const close = method === 'HEAD' ? 'connection: close\r\n' : '';
  let text = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n${close}${upgradeText(options)}`;
  const list = headers as readonly string[];
  for (let index = 0; index < list.length; index += 2) {
    const [name = '', value = ''] = [list[index], list[index + 1]];
    if (name === 'content-length') continue;
    if (!token.test(name) || ours.has(name.toLowerCase()) || !isValue(value))
      throw new TypeError('a header cannot be sent');
    text += `${name}: ${value}\r\n`;
  }
  return text;
}

function upgradeText({ upgrade }: Dispatcher.DispatchOptions): string {
  if (!upgrade) return '';
  if (!protocol.test(String(upgrade)))
    throw new TypeError('the request asks for a protocol that has no name');
  return `connection: Upgrade\r\nupgrade: ${upgrade}\r\n`;
}

/** Reads the length of the body that the request announces. */
export function lengthIn({ headers }: Dispatcher.DispatchOptions): number | undefined {
  const list = headers as readonly string[];
  for (let index = 0; index < list.length; index += 2)
    if (list[index] === 'content-length') return Number(list[index + 1]);
  return undefined;
}

/** About the connection and where the body ends: what is said here must not be said twice. */
const ours: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

const protocol = /^[A-Za-z]+(?:\/[\d.]+)?$/;
const token = /^[\w!#$%&'*+.^`|~-]+$/;
const notValue = /[^\t\x20-\x7e\x80-\xff]/;

/** The token of the gateway is the only long value of most requests, and nearly always the same. */
function isValue(value: string): boolean {
  if (value.length < longValue) return !notValue.test(value);
  if (value !== knownValue && notValue.test(value)) return false;
  knownValue = value;
  return true;
}

const longValue = 200;
let knownValue = '';
