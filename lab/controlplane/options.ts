import type { Binaries } from './versions.ts';

/** A user that proves itself with a static bearer token. */
export interface TokenUser {
  readonly user: string;
  readonly groups?: readonly string[];
}

export interface ControlPlaneOptions {
  /** For people: in the kubeconfigs, in the temporary folder's name and in errors. Default: `local`. */
  readonly name?: string;
  /** Whether etcd waits for the disk. Default: false, which is right for tests; benchmarks say true. */
  readonly fsync?: boolean;
  /** The folder that `saveEtcdData` of another control plane has filled: this one begins with a copy. Default: an empty etcd. */
  readonly etcdData?: string;
  /** How large etcd may get before it takes nothing new, see `fillEtcd`. Default: 8 GiB. */
  readonly etcdQuotaBytes?: number;
  readonly extraEtcdArgs?: readonly string[];
  readonly extraApiServerArgs?: readonly string[];
  readonly extraControllerManagerArgs?: readonly string[];
  /** The value of `kube-controller-manager --controllers`. Default: those that credentials need, none that runs pods. */
  readonly controllers?: readonly string[];
  /** An `audit.k8s.io/v1` Policy; what it selects goes to the file `auditLog`. Default: no audit log. */
  readonly auditPolicy?: object;
  /** An `apiserver.config.k8s.io` AuthenticationConfiguration. The API server notices when the file `authentication.yaml` changes. */
  readonly authentication?: object;
  /** Users that get a static bearer token, see `tokenOf`. Default: none. */
  readonly users?: readonly TokenUser[];
  /** Gives a free port of 127.0.0.1 for the API server. Default: one that the system says is free. */
  readonly choosePort?: () => Promise<number>;
  /** How long the start may take, without finding the programs. Default: 120 000. */
  readonly readyTimeoutMs?: number;
  /** Default: found as README.md says. */
  readonly binaries?: Binaries;
}
