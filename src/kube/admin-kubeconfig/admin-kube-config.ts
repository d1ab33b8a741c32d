import { fieldsOf } from './fields.ts';
import { certificatesOf, checkPair, checkUsable, pemOf, privateKeyOf } from './pem.ts';
import { type Plain, readPlainYAML } from './plain-yaml.ts';
import { Refusal, refusals } from './refusals.ts';
import { serverOf } from './server.ts';

/** Where a target is, and as whom we come: a token, or a client certificate with its key. */
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
 * Reads the administrator kubeconfig of somebody who is not trusted. Only plain values that stand in the document
 * itself are taken; whatever would run a command, open a file, or send credentials elsewhere is refused. Never throws,
 * and does no I/O. A refusal is a constant sentence that names the field and the fix; it holds no text of the document.
 */
export function readAdminKubeConfig(document: Uint8Array): AdminKubeConfigReading {
  try {
    return { config: configOf(readPlainYAML(textOf(document))) };
  } catch (error) {
    // What is no Refusal comes out of a parser: a stack too small for what it was given, and the like.
    return { refusal: error instanceof Refusal ? error.message : refusals.syntax };
  }
}

/** Whether the text can be sent as a bearer token. */
export function isBearerToken(text: string): boolean {
  return /^[\x21-\x7e]{1,8192}$/.test(text);
}

function textOf(document: Uint8Array): string {
  if (document.byteLength > maxBytes) throw new Refusal('tooLarge');
  const text = decodedUTF8(document);
  if (/[^\P{Cc}\t\n\r]/u.test(text)) throw new Refusal('encoding');
  return text;
}

function decodedUTF8(document: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(document);
  } catch {
    throw new Refusal('encoding');
  }
}

function configOf(document: Plain): AdminKubeConfig {
  const { server, authority, token, certificate, key } = fieldsOf(document);
  const ca = pemOf(certificatesOf(authority, 'authority'));
  const shared = { server: serverOf(server), ca };
  if (token !== undefined && (certificate !== undefined || key !== undefined))
    throw new Refusal('twoCredentials');
  if (token !== undefined) {
    checkUsable({ ca });
    return { ...shared, token: tokenOf(token) };
  }
  if (certificate === undefined && key === undefined) throw new Refusal('noCredential');
  if (certificate === undefined || key === undefined) throw new Refusal('halfCredential');
  return { ...shared, ...pairOf(ca, certificate, key) };
}

function tokenOf(token: Plain): string {
  if (typeof token !== 'string' || !isBearerToken(token)) throw new Refusal('token');
  return token;
}

function pairOf(ca: string, certificateField: Plain, keyField: Plain): { certificate: string; key: string } {
  const certificates = certificatesOf(certificateField, 'certificate');
  const privateKey = privateKeyOf(keyField);
  const [own] = certificates;
  if (own !== undefined) checkPair(own, privateKey);
  const certificate = pemOf(certificates);
  const key = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
  checkUsable({ ca, cert: certificate, key });
  return { certificate, key };
}
