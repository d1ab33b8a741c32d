import { allGatewaySettings } from './gateway.ts';
import { duration, listenAddress, setting, text, type ValuesOf } from './types.ts';

/** Settings of the direct endpoint alone; it has those of the gateway too. Durations are milliseconds in the program. */
export const directEndpointSettingDefinitions = {
  cluster: setting({
    name: 'LATCHKEY_ENDPOINT_CLUSTER',
    type: text(/^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/, 'the name of a Cluster'),
    documentation: 'The name of the Cluster on the platform that this direct endpoint serves.',
  }),
  agentFolder: setting({
    name: 'LATCHKEY_ENDPOINT_AGENT_FOLDER',
    type: text(/^\/.{1,1023}$/, 'an absolute path'),
    default: '/etc/latchkey/agent',
    documentation:
      'The folder of `key`, which holds the key of the agent and nothing else, and of `ca.crt`, the authority that signed the certificate of `LATCHKEY_BASE_URL`, as PEM. Without `ca.crt`: a public one. A new key is taken into use within 20 seconds.',
  }),
  outageMs: setting({
    name: 'LATCHKEY_ENDPOINT_OUTAGE',
    type: duration('0', '1d'),
    default: '1h',
    documentation:
      'How long the direct endpoint goes on with what it knew last while the platform is away. A revocation meanwhile reaches no direct endpoint. After that it answers 503.',
  }),
  webhookClientCAFile: setting({
    name: 'LATCHKEY_ENDPOINT_WEBHOOK_CLIENT_CA_FILE',
    type: text(/^(?:none|\/.{1,1023})$/, '`none`, or an absolute path'),
    default: 'none',
    documentation:
      'The authority that signed the client certificate of the API server and no other, as PEM. With it there is an [authorization webhook](direct-endpoint.md#an-api-server-of-your-own). `none`: there is none.',
  }),
  webhookAddress: setting({
    name: 'LATCHKEY_ENDPOINT_WEBHOOK_ADDRESS',
    type: listenAddress,
    default: ':8445',
    documentation: 'Where the authorization webhook is served, with the certificate of the direct endpoint.',
  }),
} as const;

/** Every setting of the direct endpoint. */
export const allDirectEndpointSettings = {
  ...allGatewaySettings,
  ...directEndpointSettingDefinitions,
} as const;

export type DirectEndpointSettings = ValuesOf<typeof allDirectEndpointSettings>;
