import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const intervalMs = 200;
const maxAncestors = 10;

/**
 * Ends this process with SIGTERM once the npm that started it is gone. Nothing else would: SIGKILL gives npm no chance
 * to pass anything on, and its children live on as orphans. Without npm among the ancestors it does nothing.
 */
export function endWithNpm(): void {
  const ancestors = ancestorsUpToNpm();
  if (ancestors.length === 0) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent && ancestors.every(isAlive)) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, intervalMs);
  timer.unref();
}

/** From the parent to the nearest npm; empty when there is none. Between the two may stand shells and a launcher. */
function ancestorsUpToNpm(): number[] {
  const ancestors: number[] = [];
  let pid = process.ppid;
  while (pid > 1 && ancestors.length < maxAncestors) {
    const { parent, command } = describe(pid);
    ancestors.push(pid);
    if (isNpm(command)) return ancestors;
    pid = parent;
  }
  return [];
}

/** `npm run demo` is what npm makes its title; its first moments show the script's path. */
function isNpm(command: string): boolean {
  return /^(npm|npx) |\/npm-cli\.js |\/npx-cli\.js |\/npm /.test(`${command} `);
}

function describe(pid: number): { parent: number; command: string } {
  try {
    return process.platform === 'linux' ? describeByProc(pid) : describeByPs(pid);
  } catch {
    // It has just ended.
    return { parent: 0, command: '' };
  }
}

/** Small images have no ps. */
function describeByProc(pid: number): { parent: number; command: string } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  return { parent: Number(/^PPid:\s*(\d+)/m.exec(status)?.[1] ?? 0), command };
}

function describeByPs(pid: number): { parent: number; command: string } {
  const line = execFileSync('ps', ['-o', 'ppid=,args=', '-p', String(pid)], { encoding: 'utf8' });
  const [parent = '0', ...words] = line.trim().split(/\s+/);
  return { parent: Number(parent), command: words.join(' ') };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
