import type { Binaries } from './versions.ts';

/** All that is needed to use a running control plane, as plain data that can go to another process. */
export interface ControlPlaneConnection {
  readonly name: string;
  /** `https://127.0.0.1:<port>` */
  readonly server: string;
  /** The authority that signed the server's and every client's certificate: PEM in base64, as kubeconfigs have it. */
  readonly caData: string;
  /** Path of a kubeconfig: user `platform-admin` in group `system:masters`. */
  readonly adminKubeconfig: string;
  readonly binaries: Binaries;
  /** Holds everything of this control plane; removed when it stops. */
  readonly folder: string;
  /** Unix socket of etcd, without TLS and authentication: the folder is private. */
  readonly etcdSocket: string;
  /** The `iss` of service account tokens. */
  readonly serviceAccountIssuer: string;
  /** JSON lines; only there when an audit policy was given. */
  readonly auditLog?: string;
}
