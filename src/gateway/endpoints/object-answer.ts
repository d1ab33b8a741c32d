import type { IncomingMessage } from 'node:http';
import { stringify } from 'yaml';
import { type JsonBounds, withinJsonBounds } from '../../kube/client/json-bounds.ts';
import { leaveRest } from '../server/error-answer.ts';
import type { Exchange } from './endpoint.ts';

/** An object in JSON, unless the client asks for YAML and not for JSON. Clients of the API read what the header says it is. */
export function sendObject(
  { request, response }: Exchange,
  status: number,
  body: object,
  headers: Readonly<Record<string, string | readonly string[]>> = {},
): void {
  if (response.destroyed) return;
  const isYAML = prefersYAML(request);
  const json = JSON.stringify(body, null, isPretty(request));
  const text = isYAML && isShort(json) ? stringify(body, yamlForm) : json;
  leaveRest(response);
  response.writeHead(status, {
    'content-type': isYAML ? 'application/yaml' : 'application/json',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-cache, private',
    ...(headers as Record<string, string>),
  });
  response.end(request.method === 'HEAD' ? undefined : text);
}

/** Folded lines would be hard to read in a kubeconfig, and to take out of it. */
const yamlForm = { version: '1.1', lineWidth: 0 } as const;

/** To write more in this way takes long, and everyone waits for it. Each JSON text is one of YAML, too. */
const isShort = (json: string): boolean => json.length <= maxYAMLLength && withinJsonBounds(json, yamlBounds);
const maxYAMLLength = 32_768;
const yamlBounds: JsonBounds = { maxLevels: 100, maxValues: 512 };

const prefersYAML = ({ headers: { accept = '' } }: IncomingMessage): boolean =>
  /\bapplication\/yaml\b/i.test(accept) && !/\/(?:json|\*)/i.test(accept);

const isPretty = ({ url = '' }: IncomingMessage): number | undefined =>
  /[?&]pretty=(?:true|1)(?:&|$)/.test(url) ? 2 : undefined;
