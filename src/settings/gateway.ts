import { commonSettingDefinitions } from './common.ts';
import { trustedIssuers } from './trusted-issuers.ts';
import {
  cidrsOrNone,
  duration,
  folderOrNone,
  integer,
  listenAddress,
  oneOf,
  originOrNone,
  setting,
  type ValuesOf,
} from './types.ts';

/** Settings of the gateway alone. Durations are milliseconds in the program. */
export const gatewaySettingDefinitions = {
  listenAddress: setting({
    name: 'LATCHKEY_LISTEN_ADDRESS',
    type: listenAddress,
    default: ':8443',
    documentation: 'Where clients are served. Port 0 takes a free port and logs it.',
  }),
  tlsFolder: setting({
    name: 'LATCHKEY_TLS_FOLDER',
    type: folderOrNone,
    default: '/etc/latchkey/tls',
    documentation:
      'The folder of `tls.crt`, the certificate chain of the base URL, and `tls.key`, its private key, as PEM. New ones are taken into use within 10 seconds. `none` serves without TLS, for trials on one machine: `LATCHKEY_LISTEN_ADDRESS` must then name a loopback address.',
  }),
  staleAfterMs: setting({
    name: 'LATCHKEY_STALE_AFTER',
    type: duration('25s', '10m'),
    default: '45s',
    documentation:
      'Without news of the credentials for this long, the gateway is not ready and refuses every credential with 503. Requests under way in a target end this long after the last answer that their user may `use` it.',
  }),
  upstreamConnections: setting({
    name: 'LATCHKEY_UPSTREAM_CONNECTIONS',
    type: integer(1, 10_000),
    default: '256',
    documentation:
      'Connections to each target for short requests, and eight times as many for watches. One user gets at most half of each. More requests wait: four times as many, and up to 10 seconds. One user may have one and a half times as many requests at once, and never fewer than 384, and five times as many watches as that. With one credential it is a quarter of both. One more gets 429.',
  }),
  stallTimeoutMs: setting({
    name: 'LATCHKEY_STALL_TIMEOUT',
    type: duration('1s', '1h'),
    default: '90s',
    documentation:
      'How long a short request may stand still: no byte of its body arrives, no answer comes, or the client takes none of it. A watch of credentials ends as well when its client takes nothing of an event for so long. API servers end requests after 60 seconds by themselves.',
  }),
  sessionMaxMs: setting({
    name: 'LATCHKEY_SESSION_MAX',
    type: duration('0', '7d'),
    default: '12h',
    documentation:
      'The longest that an `exec`, `attach`, `port-forward` or other upgraded connection lives. It never outlives its credential. 0: no limit of its own.',
  }),
  maxConnections: setting({
    name: 'LATCHKEY_MAX_CONNECTIONS',
    type: integer(1, 100_000),
    default: '5000',
    documentation:
      'Connections at once. One more closes the oldest that has carried no live credential yet; where there is none, it is closed itself. Each takes memory: see [size](size.md).',
  }),
  trustedProxies: setting({
    name: 'LATCHKEY_TRUSTED_PROXIES',
    type: cidrsOrNone,
    default: 'none',
    documentation:
      'Load balancers and proxies in front of the gateway. The nearest address in `X-Forwarded-For` that is none of theirs is the client. From everyone else that header is ignored.',
  }),
  proxyProtocol: setting({
    name: 'LATCHKEY_PROXY_PROTOCOL',
    type: oneOf('never', 'required'),
    default: 'never',
    documentation:
      '`required`: each connection from `LATCHKEY_TRUSTED_PROXIES` begins with a header of the PROXY protocol, version 1 or 2, or is closed. Connections from elsewhere have none.',
  }),
  missesPerAddress: setting({
    name: 'LATCHKEY_UNAUTHENTICATED_REQUESTS_PER_ADDRESS',
    type: integer(0, 1_000_000),
    default: '600',
    documentation:
      'Requests a minute from one source address (IPv6: from one /64) that are answered with 401. More get 429. Three times as many connections, and never fewer than 1,800, may be open at once that have carried no live credential yet. One more closes the oldest of them. Requests with a live credential do not count. `0`: neither limit, for load balancers that hide the addresses of clients.',
  }),
  trustedIssuers: setting({
    name: 'LATCHKEY_TRUSTED_ISSUERS',
    type: trustedIssuers,
    default: 'none',
    documentation:
      'Issuers whose tokens may be exchanged for a key, each with `issuer` and, where people log in with its tokens, `login`. [Token exchange](exchange.md) has all fields.',
  }),
  pageURL: setting({
    name: 'LATCHKEY_PAGE_URL',
    type: originOrNone,
    default: 'none',
    documentation:
      'Where browsers find [the page](page.md) on which people see, make and end their own credentials, as `https://latchkey.example.com:8444`. It must differ from the base URL in host or port. Only this origin may call the gateway from a browser. `none`: there is no page.',
  }),
  pageAddress: setting({
    name: 'LATCHKEY_PAGE_ADDRESS',
    type: listenAddress,
    default: ':8444',
    documentation: 'Where the page is served, with the certificate of the gateway.',
  }),
  shutdownDelayMs: setting({
    name: 'LATCHKEY_SHUTDOWN_DELAY',
    type: duration('0', '1m'),
    default: '5s',
    documentation:
      'How long the gateway goes on after SIGTERM, not ready any more, until load balancers have noticed.',
  }),
  shutdownGraceMs: setting({
    name: 'LATCHKEY_SHUTDOWN_GRACE',
    type: duration('0', '10m'),
    default: '10s',
    documentation:
      'How long after that requests and watches under way may take. `terminationGracePeriodSeconds` must exceed the sum by 10 seconds.',
  }),
} as const;

/** Every setting of the gateway. */
export const allGatewaySettings = { ...commonSettingDefinitions, ...gatewaySettingDefinitions } as const;

export type GatewaySettings = ValuesOf<typeof allGatewaySettings>;
