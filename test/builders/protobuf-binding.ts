/** One field of bytes, as protobuf writes it. */
function field(number: number, value: Buffer | string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([varint((number << 3) | 2), varint(bytes.length), bytes]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>>= 7) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest & 127) | 128);
  }
}

export interface ProtobufBinding {
  /** Bytes need not be UTF-8: nothing checks it on the way in. */
  readonly name: Buffer | string;
  /** Absent: a ClusterRoleBinding. */
  readonly namespace?: string;
  readonly users: readonly string[];
  readonly finalizers?: readonly string[];
}

const group = 'rbac.authorization.k8s.io';

/** A binding to `cluster-admin` as `application/vnd.kubernetes.protobuf`: magic, then `runtime.Unknown` around the object. */
export function protobufBinding({ name, namespace, users, finalizers = [] }: ProtobufBinding): Buffer {
  const metadata = [
    field(1, name),
    ...(namespace === undefined ? [] : [field(3, namespace)]),
    ...finalizers.map((finalizer) => field(14, finalizer)),
  ];
  const object = [
    field(1, Buffer.concat(metadata)),
    ...users.map((user) => field(2, Buffer.concat([field(1, 'User'), field(2, group), field(3, user)]))),
    field(3, Buffer.concat([field(1, group), field(2, 'ClusterRole'), field(3, 'cluster-admin')])),
  ];
  const kind = namespace === undefined ? 'ClusterRoleBinding' : 'RoleBinding';
  const type = Buffer.concat([field(1, `${group}/v1`), field(2, kind)]);
  return Buffer.concat([Buffer.from('k8s\0'), field(1, type), field(2, Buffer.concat(object))]);
}

export const protobufType = 'application/vnd.kubernetes.protobuf';
