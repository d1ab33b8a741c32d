import { findFields, parseServer } from './fields.ts';
import { checkPair, checkUsable, isBase64Of, parseCertificates, parsePrivateKey, toPem } from './pem.ts';
import { type Plain, readPlainYAML } from './plain-yaml.ts';
import { KubeConfigRefusal, refusals } from './refusals.ts';

/** The address of a target and the credentials for it: a token, or a client certificate with its key. */
export interface AdminKubeConfig {
  /** https, without user info, query and fragment. */
  readonly server: URL;
  /** PEM of one certificate or more; the only authorities that the server may prove itself by. */
  readonly ca: string;
  readonly token?: string;
  /** PEM, the client's own certificate first. Together with `key`. */
  readonly certificate?: string;
  /** PEM, PKCS#8. */
  readonly key?: string;
}

export type AdminKubeConfigReading = { readonly config: AdminKubeConfig } | { readonly refusal: string };

const maxBytes = 64 * 1024;

/**
 * Reads an administrator kubeconfig, whose author is not trusted. Only plain values in the document itself are
 * accepted. Anything that would run a command, open a file, or send credentials elsewhere is refused. Never throws, and
 * does no I/O. A refusal is a constant sentence that names the field and the fix; it holds no text of the document.
 */
export function readAdminKubeConfig(document: Uint8Array): AdminKubeConfigReading {
  try {
    return { config: parseConfig(readPlainYAML(decodeText(document))) };
  } catch (error) {
    // Any other error comes out of a parser, for example when the document exhausts the stack.
    return { refusal: error instanceof KubeConfigRefusal ? error.message : refusals.syntax };
  }
}

/** Whether the text can be sent as a bearer token. */
export function isBearerToken(text: string): boolean {
  return /^[\x21-\x7e]{1,8192}$/.test(text);
}

function decodeText(document: Uint8Array): string {
  if (document.byteLength > maxBytes) throw new KubeConfigRefusal('tooLarge');
  const text = decodeUTF8(document);
  if (/[^\P{Cc}\t\n\r]/u.test(text)) throw new KubeConfigRefusal('encoding');
  if (
    isBase64Of(
      text,
      /^(?:\s*[#{]|---|(?:apiVersion|kind|clusters|users|contexts|preferences|current-context)\s*:)/,
    )
  )
    throw new KubeConfigRefusal('base64Twice');
  return text;
}

function decodeUTF8(document: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(document);
  } catch {
    throw new KubeConfigRefusal('encoding');
  }
}

function parseConfig(document: Plain): AdminKubeConfig {
  const { server, authority, token, certificate, key } = findFields(document);
  const ca = toPem(parseCertificates(authority, 'authority'));
  const shared = { server: parseServer(server), ca };
  const bearer = token === undefined ? {} : { token: parseToken(token) };
  // An administrator of AKS has both. The certificate proves who we are, and its key is not sent as a token is.
  if (certificate !== undefined && key !== undefined)
    return { ...shared, ...parsePair(ca, certificate, key) };
  if (certificate !== undefined || key !== undefined) throw new KubeConfigRefusal('halfCredential');
  if (token === undefined) throw new KubeConfigRefusal('noCredential');
  checkUsable({ ca });
  return { ...shared, ...bearer };
}

function parseToken(token: Plain): string {
  if (typeof token !== 'string' || !isBearerToken(token)) throw new KubeConfigRefusal('token');
  return token;
}

function parsePair(
  ca: string,
  certificateField: Plain,
  keyField: Plain,
): { certificate: string; key: string } {
  const certificates = parseCertificates(certificateField, 'certificate');
  const privateKey = parsePrivateKey(keyField);
  const [own] = certificates;
  if (own !== undefined) checkPair(own, privateKey);
  const certificate = toPem(certificates);
  const key = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
  checkUsable({ ca, cert: certificate, key });
  return { certificate, key };
}
