import { readFileSync } from 'node:fs';
import { Agent, createServer, request } from 'node:https';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream';
import { parseArgs } from 'node:util';

// The least that a proxy in Node can do: `node:https` on both sides, and `pipe`. It asks no one for a credential, writes nothing down, and
// sends the same identity with each request. So nothing in Node is faster with this API.
const { values } = parseArgs({
  options: {
    listen: { type: 'string', default: '' },
    cert: { type: 'string', default: '' },
    key: { type: 'string', default: '' },
    server: { type: 'string', default: '' },
    authority: { type: 'string', default: '' },
    headers: { type: 'string', default: '' },
  },
});
const prefix = '/kubernetes/management';
const { hostname, port } = new URL(values.server);
const identity = JSON.parse(readFileSync(values.headers, 'utf8')) as Readonly<Record<string, string>>;
const agent = new Agent({ keepAlive: true, ca: readFileSync(values.authority), maxSockets: 8_192 });
const optionsOf = (method = 'GET', url = '', headers: object = {}) => ({
  ...{ agent, hostname, port, method, path: url.slice(prefix.length), servername: 'localhost' },
  headers: { ...headers, ...identity },
});
const ignore = () => undefined;

const server = createServer({ cert: readFileSync(values.cert), key: readFileSync(values.key) });
server.on('request', (incoming, outgoing) => {
  if (incoming.url === '/ready') return void outgoing.end();
  const upstream = request(optionsOf(incoming.method, incoming.url, incoming.headers), (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    pipeline(answer, outgoing, ignore);
  });
  upstream.on('error', () => outgoing.destroy());
  pipeline(incoming, upstream, ignore);
});
server.on('upgrade', (incoming, client: Socket) => {
  const upstream = request(optionsOf(incoming.method, incoming.url, incoming.headers));
  upstream.on('error', () => client.destroy());
  upstream.on('response', () => client.destroy());
  upstream.on('upgrade', ({ rawHeaders }, target: Socket, first: Buffer) => {
    const lines = Array.from(
      { length: rawHeaders.length / 2 },
      (_, at) => `${rawHeaders[2 * at]}: ${rawHeaders[2 * at + 1]}`,
    );
    client.write(['HTTP/1.1 101 Switching Protocols', ...lines, '', ''].join('\r\n'));
    client.write(first);
    pipeline(target, client, ignore);
    pipeline(client, target, ignore);
  });
  upstream.end();
});
const [address = '', listenPort] = values.listen.split(':');
server.listen(Number(listenPort), address);
