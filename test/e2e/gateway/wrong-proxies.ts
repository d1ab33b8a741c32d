import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createAuthority, createServer } from '../../../lab/controlplane/certificates.ts';
import { base64, writeKubeconfig } from '../../../lab/controlplane/kubeconfig.ts';
import { freePort } from '../../../lab/controlplane/ports.ts';
import { findBalancer, untilListening } from '../../../lab/gateway/balancer.ts';
import { Kubectl } from '../../../lab/operator/kubectl.ts';
import type { GatewayWorld } from './gateway-world.ts';

/** As the guide has nginx pass everything on. */
const right = {
  buffering: 'proxy_buffering off;',
  idle: 'proxy_read_timeout 1h;',
  bodies: 'client_max_body_size 0;',
  upgrade: 'proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_header;',
};

/** The same with one thing left out, which then is as nginx has it, or is worse. By the rows of the guide. */
const nginxes = {
  right,
  'keeps answers back': { ...right, buffering: '' },
  'ends quiet connections': { ...right, idle: 'proxy_read_timeout 5s;' },
  'limits bodies': { ...right, bodies: '' },
  'drops `Upgrade`': { ...right, upgrade: '' },
} satisfies Record<string, typeof right>;

/** With haproxy, for nginx speaks no HTTP/2 to a server. */
const http2Only = 'speaks HTTP/2 only';

export type ProxyName = keyof typeof nginxes | typeof http2Only;

/** Where distributions put it. */
const places = ['/usr/sbin/nginx', '/usr/local/sbin/nginx', '/usr/bin/nginx'];

/** Starts proxies that end TLS in front of the gateway, and returns a kubectl behind each. Call it at the top of a file. */
export async function startProxies(world: GatewayWorld, key: string): Promise<Record<ProxyName, Kubectl>> {
  const command = places.find(existsSync);
  if (command === undefined) throw new Error('this test needs nginx: install the package of that name');
  const { guard, gateway } = world;
  const folder = path.join(guard.folder, 'wrong-proxies');
  await mkdir(folder);
  const authority = createAuthority('proxies');
  const { certificate, key: privateKey } = createServer(authority, ['localhost']);
  await writeFile(path.join(folder, 'both.pem'), certificate + privateKey, { mode: 0o600 });
  await writeFile(path.join(folder, 'gateway-ca.pem'), gateway.ca);
  const names = [...Object.keys(nginxes), http2Only] as ProxyName[];
  const ports = Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await freePort()] as const)),
  ) as Record<ProxyName, number>;
  const [nginxFile, haproxyFile] = ['nginx.conf', 'haproxy.cfg'].map((name) => path.join(folder, name)) as [
    string,
    string,
  ];
  await writeFile(nginxFile, nginxConfiguration(folder, gateway.port, ports));
  await writeFile(haproxyFile, haproxyConfiguration(folder, gateway.port, ports[http2Only]));
  await guard.run({ name: 'nginx', command, args: ['-p', folder, '-c', nginxFile] });
  await guard.run({ name: 'http2-only', command: findBalancer(), args: ['-db', '-f', haproxyFile] });
  const kubectl = async (name: ProxyName) => {
    await untilListening(ports[name]);
    const server = `https://127.0.0.1:${ports[name]}/kubernetes/management`;
    const place = { name: 'proxy', server, caData: base64(authority.certificate), folder };
    return [name, new Kubectl(world, await writeKubeconfig(place, 'holder', { token: key }))] as const;
  };
  return Object.fromEntries(await Promise.all(names.map(kubectl))) as Record<ProxyName, Kubectl>;
}

function nginxConfiguration(folder: string, behind: number, ports: Record<ProxyName, number>): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${path.join(folder, name)};`,
  );
  const servers = Object.entries(nginxes).map(
    ([name, lines]) => `
  server {
    listen 127.0.0.1:${ports[name as ProxyName]} ssl;
    ${lines.bodies}
    location / {
      proxy_pass https://127.0.0.1:${behind};
      proxy_http_version 1.1;
      proxy_ssl_verify on;
      proxy_ssl_name localhost;
      proxy_ssl_trusted_certificate ${path.join(folder, 'gateway-ca.pem')};
      ${[lines.buffering, lines.idle, lines.upgrade].join('\n      ')}
    }
  }`,
  );
  return `
daemon off;
master_process off;
error_log stderr;
pid ${path.join(folder, 'nginx.pid')};
events {}
http {
  access_log off;
  ${temporary.join('\n  ')}
  ssl_certificate ${path.join(folder, 'both.pem')};
  ssl_certificate_key ${path.join(folder, 'both.pem')};
  map $http_upgrade $connection_header {
    default upgrade;
    "" "";
  }
  ${servers.join('')}
}
`;
}

const haproxyConfiguration = (folder: string, behind: number, port: number): string => `
defaults
  mode http
  timeout connect 2s
  timeout client 1h
  timeout server 1h
  retries 0
frontend clients
  bind 127.0.0.1:${port} ssl crt ${path.join(folder, 'both.pem')} alpn http/1.1
  default_backend server
backend server
  server behind 127.0.0.1:${behind} ssl alpn h2 proto h2 verify required ca-file ${path.join(folder, 'gateway-ca.pem')}
`;
