// Records what a client sends to an API server, for compared-calls.test.ts; see README.md.
//   node test/clients/recorded/record.ts <name> <title of the client> <command> [arguments]
import { isUtf8 } from 'node:buffer';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { request } from 'node:https';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { parse } from 'yaml';
import { startControlPlane } from '../../../lab/controlplane/control-plane.ts';
import { writeKubeconfig } from '../../../lab/controlplane/kubeconfig.ts';
import type { RecordedRequest } from './recording.ts';

const [name = '', title = '', command = '', ...args] = process.argv.slice(2);
const plane = await startControlPlane({ name: 'recorded' });
const recorded: RecordedRequest[] = [];
try {
  await plane.kubectl(['apply', '-f', path.resolve(import.meta.dirname, '../shops.yaml')]);
  const { users, clusters } = parse(await readFile(plane.adminKubeconfig, 'utf8'));
  const pem = (data: string): string => Buffer.from(data, 'base64').toString();
  const { host, hostname, port } = new URL(clusters[0].cluster.server);
  const [{ user }] = users;
  const tls = {
    ca: pem(clusters[0].cluster['certificate-authority-data']),
    cert: pem(user['client-certificate-data']),
    key: pem(user['client-key-data']),
  };
  const server = createServer((incoming, response) => void pass(incoming, response));
  server.on('upgrade', (incoming, socket, head) => {
    note(incoming, Buffer.alloc(0));
    const lines = incoming.rawHeaders.map((text, i) => (i % 2 === 0 ? `${text}: ` : `${text}\r\n`));
    const upstream = connectTls({ host: hostname, port: Number(port), ...tls }, () => {
      const kept = lines.join('').replace(/^(authorization|host): .*\r\n/gim, '');
      upstream.write(`${incoming.method} ${incoming.url} HTTP/1.1\r\nHost: ${host}\r\n${kept}\r\n`);
      upstream.write(head);
      socket.pipe(upstream).pipe(socket);
    });
    for (const one of [socket, upstream]) one.on('error', () => undefined);
  });

  async function pass(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(incoming);
    note(incoming, body);
    const { authorization: _, host: __, ...headers } = incoming.headers;
    const upstream = request({
      hostname,
      port,
      method: incoming.method,
      path: incoming.url,
      headers,
      ...tls,
    });
    upstream.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    upstream.on('error', () => response.destroy());
    response.on('close', () => upstream.destroy());
    upstream.end(body);
  }

  function note({ method = '', url = '', headers }: IncomingMessage, content: Buffer): void {
    const { authorization: _, host: __, 'content-length': ___, ...kept } = headers;
    // A time of that cluster means nothing in another one, and 0 is any time; its documents have other hashes.
    const from = url.replace(/(resourceVersion=)\d+/, '$10').replace(/hash=\w+&/, '');
    const isText = isUtf8(content);
    const body =
      content.length > 0 && (isText ? { body: content.toString() } : { base64: content.toString('base64') });
    recorded.push({ method, path: from, headers: kept as Record<string, string>, ...body });
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address() as { port: number };
  const target = {
    name: 'recorded',
    server: `http://127.0.0.1:${address.port}`,
    caData: plane.caData,
    folder: plane.folder,
  };
  const kubeconfig = await writeKubeconfig(target, 'recorded', { token: 'recorded' });
  const child = spawn(command, args, { stdio: 'inherit', env: { ...process.env, KUBECONFIG: kubeconfig } });
  const [code] = await once(child, 'exit');
  process.exitCode = code ?? 1;
  server.closeAllConnections();
  server.close();
  const file = path.join(import.meta.dirname, `${name}.json`);
  await writeFile(file, `${JSON.stringify({ title, requests: recorded }, undefined, 2)}\n`);
} finally {
  await plane.stop();
}
