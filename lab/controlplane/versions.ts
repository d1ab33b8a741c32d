/** Versions in the local control plane. The Go build in build/go.mod pins the same two. */
export const kubernetesVersion = '1.36.3';
export const etcdVersion = '3.6.8';

/** Of the kubectl of the minor before. older-kubectl/go.mod pins the libraries that it is made of. */
export const olderKubectlVersion = '1.35.10';

/** Names one set of binaries in the cache: another version of either project gets a folder of its own. */
export const cacheKey = `${kubernetesVersion}-etcd${etcdVersion}-${process.platform}-${process.arch}`;

export const toolNames = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl'] as const;
export type ToolName = (typeof toolNames)[number];

/** The older kubectl is no part of a control plane: only who asks for it waits for it. */
export type ProgramName = ToolName | 'older-kubectl';

/** Absolute path of each program. */
export type Binaries = Readonly<Record<ToolName, string>>;
