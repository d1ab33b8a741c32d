/** The protocols of sessions, each with the environment in which kubectl speaks it. */
export const sessionProtocols = [
  ['websocket', {}],
  ['SPDY', { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'false', KUBECTL_PORT_FORWARD_WEBSOCKETS: 'false' }],
] as const;
