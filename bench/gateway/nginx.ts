import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { freePort } from '../../lab/controlplane/ports.ts';
import { type Endpoint, identityHeaders, startServer } from './endpoints.ts';
import type { GatewayPlatform } from './gateway-platform.ts';

/** Where distributions put it. */
const places = ['/usr/sbin/nginx', '/usr/local/sbin/nginx', '/usr/bin/nginx'];

/**
 * nginx as a plain TLS reverse proxy: it asks no one for a credential, and sends the same identity with each request. Undefined
 * where it is not installed.
 */
export async function startNginx(platform: GatewayPlatform): Promise<Endpoint | undefined> {
  const command = places.find(existsSync);
  if (command === undefined) return undefined;
  const { guard, certificate } = platform;
  const folder = path.join(guard.folder, 'nginx');
  await mkdir(folder);
  const port = await freePort();
  const file = path.join(folder, 'nginx.conf');
  await writeFile(file, await configuration(platform, folder, port), { mode: 0o600 });
  const ready = { url: `https://127.0.0.1:${port}/nginx-ready`, ca: certificate.ca };
  const args = ['-p', folder, '-c', file, '-e', 'stderr'];
  const { pid } = await startServer(guard, { name: 'nginx', command, args }, ready);
  const url = `https://127.0.0.1:${port}/kubernetes/management`;
  return { name: 'nginx, without duties', url, pid, headers: () => ({}) };
}

/** One process, as a replica of the gateway is one: it does its work in the master, so that its CPU time is that of one PID. */
async function configuration(platform: GatewayPlatform, folder: string, port: number): Promise<string> {
  const { plane, certificate } = platform;
  const authority = path.join(folder, 'api-server-ca.crt');
  await writeFile(authority, Buffer.from(plane.caData, 'base64'));
  const headers = Object.entries(await identityHeaders(platform));
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${path.join(folder, name)};`,
  );
  return `
daemon off;
master_process off;
pid ${path.join(folder, 'nginx.pid')};
worker_rlimit_nofile 16384;
events { worker_connections 8192; }
http {
  access_log off;
  proxy_headers_hash_bucket_size 256;
  ${temporary.join('\n  ')}
  keepalive_requests 1000000000;
  client_max_body_size 0;
  map $http_upgrade $connection_header {
    default upgrade;
    "" "";
  }
  upstream api_server {
    server ${new URL(plane.server).host};
    keepalive 128;
    keepalive_requests 1000000000;
    keepalive_time 24h;
  }
  server {
    listen 127.0.0.1:${port} ssl;
    ssl_certificate ${certificate.cert};
    ssl_certificate_key ${certificate.key};
    ssl_protocols TLSv1.2 TLSv1.3;
    ssl_session_cache shared:clients:1m;
    location = /nginx-ready { return 204; }
    location /kubernetes/management/ {
      proxy_pass https://api_server/;
      proxy_http_version 1.1;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_header;
      proxy_read_timeout 1h;
${headers.map(([name, value]) => `      proxy_set_header ${name} "${value}";`).join('\n')}
      proxy_ssl_protocols TLSv1.2 TLSv1.3;
      proxy_ssl_session_reuse on;
      proxy_ssl_verify on;
      proxy_ssl_name localhost;
      proxy_ssl_trusted_certificate ${authority};
      proxy_max_temp_file_size 0;
    }
  }
}
`;
}
