/** Versions in the local control plane. The Go build in build/go.mod pins the same two. */
export const kubernetesVersion = '1.36.3';
export const etcdVersion = '3.6.8';

/** Names one set of binaries in the cache: another version of either project gets a folder of its own. */
export const cacheKey = `${kubernetesVersion}-etcd${etcdVersion}-${process.platform}-${process.arch}`;

export const toolNames = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl'] as const;
export type ToolName = (typeof toolNames)[number];

/** Absolute path of each program. */
export type Binaries = Readonly<Record<ToolName, string>>;
