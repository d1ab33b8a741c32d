/**
 * Settings of earlier builds, each with what replaces it. They are refused, not ignored: a limit that has gone unnoticed would not hold.
 */
export const removedSettings: Readonly<Record<`LATCHKEY_${string}`, string>> = {
  LATCHKEY_ENDPOINT_KEY_FILE:
    'set LATCHKEY_ENDPOINT_AGENT_FOLDER to the folder of the file, and name the file key',
  LATCHKEY_ENDPOINT_PLATFORM_CA_FILE:
    'put the authority into LATCHKEY_ENDPOINT_AGENT_FOLDER, and name the file ca.crt',
  LATCHKEY_ENDPOINT_WEBHOOK_FOLDER: 'give print-config --folder',
  LATCHKEY_ENDPOINT_WEBHOOK_URL: 'give print-config --url',
  LATCHKEY_PAGE: 'LATCHKEY_PAGE_URL alone says whether there is a page',
  LATCHKEY_PLAIN_HTTP: 'set LATCHKEY_TLS_FOLDER to none, which serves without TLS on loopback',
  LATCHKEY_TLS_CERT_FILE: 'set LATCHKEY_TLS_FOLDER to the folder of the file, and name the file tls.crt',
  LATCHKEY_TLS_KEY_FILE: 'set LATCHKEY_TLS_FOLDER to the folder of the file, and name the file tls.key',
};
