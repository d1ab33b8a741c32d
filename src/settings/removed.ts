/**
 * Settings of earlier builds, each with what replaces it. They are refused, not ignored: a limit that has gone unnoticed would not hold.
 */
export const removedSettings: Readonly<Record<`LATCHKEY_${string}`, string>> = {
  LATCHKEY_ACTIVITY_WRITES_PER_SECOND:
    'a replica writes 20 a second; where that is too little, raise LATCHKEY_ACTIVITY_INTERVAL or add replicas',
  LATCHKEY_CONCURRENCY: 'it is 16; give the operator more CPU',
  LATCHKEY_CREDENTIALS_PER_USER: 'it is a tenth of LATCHKEY_MAX_OBJECTS_PER_OWNER, or 100 if that is more',
  LATCHKEY_ENDPOINT_KEY_FILE:
    'set LATCHKEY_ENDPOINT_AGENT_FOLDER to the folder of the file, and name the file key',
  LATCHKEY_ENDPOINT_PLATFORM_CA_FILE:
    'put the authority into LATCHKEY_ENDPOINT_AGENT_FOLDER, and name the file ca.crt',
  LATCHKEY_ENDPOINT_WEBHOOK_FOLDER: 'give print-config --folder',
  LATCHKEY_ENDPOINT_WEBHOOK_URL: 'give print-config --url',
  LATCHKEY_IDENTITY: 'it is the name of the host and a random suffix',
  LATCHKEY_IDLE_TIMEOUT: 'it is 620 seconds; let load balancers close idle connections sooner',
  LATCHKEY_PAGE: 'LATCHKEY_PAGE_URL alone says whether there is a page',
  LATCHKEY_PLAIN_HTTP: 'set LATCHKEY_TLS_FOLDER to none, which serves without TLS on loopback',
  LATCHKEY_REQUESTS_PER_USER:
    'it is one and a half times LATCHKEY_UPSTREAM_CONNECTIONS, and never fewer than 384',
  LATCHKEY_TLS_CERT_FILE: 'set LATCHKEY_TLS_FOLDER to the folder of the file, and name the file tls.crt',
  LATCHKEY_TLS_KEY_FILE: 'set LATCHKEY_TLS_FOLDER to the folder of the file, and name the file tls.key',
  LATCHKEY_UNAUTHENTICATED_CONNECTIONS_PER_ADDRESS:
    'it is three times LATCHKEY_UNAUTHENTICATED_REQUESTS_PER_ADDRESS, never fewer than 1,800, and 0 turns off both',
};
