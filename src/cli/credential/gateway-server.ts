/** Text that all readers of URLs understand in the same way: no user, no backslash, nothing encoded. */
const plainURL = /^https:\/\/[A-Za-z0-9.:[\]-]+(?:\/[A-Za-z0-9._~/-]*)?$/;

/** Whether a server of a kubeconfig is a target of the gateway. */
export function isUnder(server: string, baseURL: string): boolean {
  if (!plainURL.test(server)) return false;
  const url = URL.parse(server);
  return url !== null && `${url.origin}${url.pathname}/`.startsWith(`${baseURL}/kubernetes/`);
}

/** The same for the server that a client names in KUBERNETES_EXEC_INFO. A client that names none is not judged. */
export function isInfoUnder(info: string | undefined, baseURL: string): boolean {
  if (info === undefined) return true;
  try {
    const { server } = JSON.parse(info).spec.cluster;
    return typeof server !== 'string' || isUnder(server, baseURL);
  } catch {
    return true;
  }
}
