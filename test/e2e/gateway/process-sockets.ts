import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** A TCP socket of a process, as the system has it. */
export interface ProcessSocket {
  readonly inode: string;
  readonly isListening: boolean;
  readonly localPort: number;
  readonly remotePort: number;
  /** Seconds until the system asks the other side whether it is still there. Absent: it does not, or bytes are on their way just now. */
  readonly keepAliveIn?: number;
}

/** Of a timer in this table that counts for keep-alive. */
const keepAliveTimer = '02';
/** Units of time in this table in a second. */
const ticks = 100;

/** All of a process, on whatever address. */
export function socketsOf(pid: number): readonly ProcessSocket[] {
  const own = readdirSync(`/proc/${pid}/fd`).map((name) => linkOf(`/proc/${pid}/fd/${name}`));
  const tables = ['tcp', 'tcp6'].map((name) => readFileSync(`/proc/${pid}/net/${name}`, 'utf8'));
  // Columns: number, local address, remote address, state (0A is LISTEN), queues, timer with its time, three more, inode.
  const rows = tables.flatMap((table) => table.split('\n').map((line) => line.trim().split(/\s+/)));
  return rows
    .filter(([, , , , , , , , , inode]) => own.includes(`socket:[${inode}]`))
    .map(([, local = '', remote = '', state, , time = '', , , , inode = '']) => {
      const [timer, left = ''] = time.split(':');
      const keepAlive = timer === keepAliveTimer ? { keepAliveIn: Number.parseInt(left, 16) / ticks } : {};
      const [localPort, remotePort] = [portOf(local), portOf(remote)];
      return { inode, isListening: state === '0A', localPort, remotePort, ...keepAlive };
    });
}

const portOf = (address: string): number => Number.parseInt(address.split(':')[1] ?? '', 16);

function linkOf(file: string): string {
  try {
    return readlinkSync(file);
  } catch {
    // It was closed meanwhile.
    return '';
  }
}
