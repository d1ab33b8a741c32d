import { KubeError } from '../kube-error.ts';

/** Older servers refuse the parameter; servers older still, and some proxies, overlook it and send nothing. */
export function isRefusalOfStreaming(error: unknown): boolean {
  if (!(error instanceof KubeError)) return false;
  return error.code === 'ERR_KUBE_TIMEOUT' || error.status === 422 || error.status === 400;
}

/** A broken connection and a refusal for now lose nothing; after anything else only a list is sure to be right. */
export function isResumable(error: unknown): boolean {
  if (!(error instanceof KubeError)) return false;
  if (error.code === 'ERR_KUBE_UNREACHABLE' || error.code === 'ERR_KUBE_TIMEOUT') return true;
  if (error.code !== 'ERR_KUBE_STATUS' || isAheadOfServer(error)) return false;
  return [401, 403, 429].includes(error.status) || error.status >= 500;
}

/** There is no such kind: its definition is missing. A list of objects gets this answer for no other reason. */
export function isUnservedKind(error: unknown): boolean {
  return error instanceof KubeError && error.code === 'ERR_KUBE_STATUS' && error.status === 404;
}

/** The wanted version is newer than the server's: its etcd was restored from a backup, or its cache is late. */
function isAheadOfServer(error: unknown): boolean {
  if (!(error instanceof KubeError)) return false;
  return error.details?.causes?.some(({ reason }) => reason === 'ResourceVersionTooLarge') ?? false;
}

/** Seconds that the server asks for. */
export function retryAfterOf(error: unknown): number | undefined {
  return error instanceof KubeError ? error.retryAfterSeconds : undefined;
}
