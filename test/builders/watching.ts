import type { KubeClient } from '../../src/kube/client/client.ts';

/** Watches ConfigMaps from now on. Resolves when the server ends the watch, and rejects with what it fails with. */
export async function watchConfigMaps(
  client: KubeClient,
  signal: AbortSignal,
  { onOpen, onEvent }: { onOpen?: () => void; onEvent?: (object: unknown) => void } = {},
): Promise<void> {
  const options = { signal, idleMs: 60_000, maxLineBytes: 1_000, ...(onOpen && { onOpen }) };
  const query = new URLSearchParams({ watch: 'true' });
  for await (const { object } of client.watch('/api/v1/configmaps', query, options)) onEvent?.(object);
}
