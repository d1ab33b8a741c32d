import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Guard } from './guard.ts';

const soon = { timeout: 60_000, interval: 20 };

let label: string;
let guards: Guard[];

beforeEach(() => {
  label = `t${randomUUID()}`;
  guards = [];
});

afterEach(async () => {
  await Promise.all(guards.map(async (guard) => await guard.stop()));
});

async function startGuard(parent?: string): Promise<Guard> {
  const guard = await Guard.start(label, parent);
  guards.push(guard);
  return guard;
}

/** Every process that has the label of this test among its arguments: the guard, what it runs, and who owns it. */
function processes(): string[] {
  const all = execFileSync('ps', ['-A', '-o', 'pid=,args='], { encoding: 'utf8' });
  return all.split('\n').filter((line) => line.includes(label));
}

function folders(): string[] {
  return readdirSync(tmpdir()).filter((name) => name.includes(label));
}

function guardPid(): number {
  const line = processes().find((process) => process.includes('guard.sh'));
  return Number.parseInt(line ?? '', 10);
}

async function untilNothingIsLeft(): Promise<void> {
  await vi.waitFor(() => expect([...processes(), ...folders()]).toEqual([]), soon);
}

/** A shell that waits for a child of its own; both stay until they get a signal. */
const sleeper = (name: string) => ({ name, command: 'sh', args: ['-c', 'sleep 600 & wait', label] });

describe('a guard', () => {
  it('runs a program with its arguments, environment, working folder and log', async () => {
    const guard = await startGuard();
    const program = await guard.run({
      name: 'program',
      command: 'sh',
      args: ['-c', 'echo "$1|$GREETING|$PWD"; echo problem >&2; exit 7', 'sh', `it's "a" $word`],
      env: { GREETING: `it's\nhere` },
      cwd: '/',
    });
    expect(await program.exited).toBe(7);
    expect(readFileSync(program.logPath, 'utf8')).toBe(`it's "a" $word|it's\nhere|/\nproblem\n`);
  });

  it('gives the process id of the program itself', async () => {
    const guard = await startGuard();
    const program = await guard.run({ name: 'program', command: 'sh', args: ['-c', 'echo $$'] });
    await program.exited;
    expect(readFileSync(program.logPath, 'utf8')).toBe(`${program.pid}\n`);
  });

  it('reports a program that cannot be found as exit code 127', async () => {
    const program = await (await startGuard()).run({ name: 'program', command: 'no-such-program', args: [] });
    expect(await program.exited).toBe(127);
  });

  it('gives its programs a temporary folder that goes with them', async () => {
    const guard = await startGuard();
    const program = await guard.run({ name: 'program', command: 'sh', args: ['-c', 'echo "$TMPDIR"'] });
    await program.exited;
    expect(readFileSync(program.logPath, 'utf8')).toBe(`${guard.folder}\n`);
  });

  it('lets a name be used again once its program has ended, not before', async () => {
    const guard = await startGuard();
    const first = await guard.run(sleeper('program'));
    await expect(guard.run(sleeper('program'))).rejects.toThrow('process name "program" is in use');
    process.kill(first.pid, 'SIGKILL');
    expect(await first.exited).toBe(137);
    expect((await guard.run(sleeper('program'))).pid).not.toBe(first.pid);
  });

  it('refuses a name that would not be one word of its protocol', async () => {
    const guard = await startGuard();
    await expect(guard.run(sleeper('two words'))).rejects.toThrow(
      'name "two words": use letters, digits and dashes only',
    );
    await expect(Guard.start('../elsewhere')).rejects.toThrow('use letters, digits and dashes only');
  });

  it('says where it cannot make its folder', async () => {
    await expect(Guard.start(label, '/no/such/folder')).rejects.toThrow(
      'cannot make a temporary folder in /no/such/folder',
    );
  });

  it('makes its folder private to the user', async () => {
    const guard = await startGuard();
    expect(execFileSync('ls', ['-ld', guard.folder], { encoding: 'utf8' })).toMatch(/^drwx------/);
  });

  it('leaves no process and no folder when it is stopped, twice even', async () => {
    const guard = await startGuard();
    await guard.run(sleeper('one'));
    await guard.run(sleeper('two'));
    await Promise.all([guard.stop(), guard.stop()]);
    expect([...processes(), ...folders()]).toEqual([]);
    await expect(guard.run(sleeper('three'))).rejects.toThrow('the guard has ended');
  });

  it('ends its programs in the reverse of the order in which they were started', async () => {
    const guard = await startGuard();
    const diary = path.join(mkdtempSync(path.join(tmpdir(), 'latchkey-diary-')), 'diary');
    const script = `trap 'echo $0 >>"$1"; exit' TERM; echo ready; while :; do sleep 0.02; done`;
    for (const name of ['first', 'second', 'third']) {
      const program = await guard.run({ name, command: 'sh', args: ['-c', script, name, diary] });
      await vi.waitFor(() => expect(readFileSync(program.logPath, 'utf8')).toBe('ready\n'), soon);
    }
    await guard.stop();
    expect(readFileSync(diary, 'utf8')).toBe('third\nsecond\nfirst\n');
    rmSync(path.dirname(diary), { recursive: true });
  });

  it.each([
    { graceSeconds: 0, signal: 'SIGKILL at once' },
    { graceSeconds: 0.1, signal: 'SIGTERM, then SIGKILL when that is ignored' },
  ])('sends $signal for a grace of $graceSeconds s', async ({ graceSeconds }) => {
    const guard = await startGuard();
    const script = 'trap "" TERM; echo ready; while :; do sleep 0.02; done';
    const program = await guard.run({
      name: 'program',
      command: 'sh',
      args: ['-c', script, label],
      graceSeconds,
    });
    await vi.waitFor(() => expect(readFileSync(program.logPath, 'utf8')).toBe('ready\n'), soon);
    await guard.stop();
    expect(await program.exited).toBe(137);
    expect(processes()).toEqual([]);
  });

  it('ends what its programs started, too', async () => {
    const guard = await startGuard();
    const script = 'sh -c "while :; do sleep 600; done" "$0-child" & exit';
    const program = await guard.run({ name: 'program', command: 'sh', args: ['-c', script, label] });
    await program.exited;
    const children = () => processes().filter((process) => process.includes(`${label}-child`));
    // Until the child's own fork has become `sleep`, there are two by that name.
    await vi.waitFor(() => expect(children()).toHaveLength(1), soon);
    await guard.stop();
    await untilNothingIsLeft();
  });

  it.each(['SIGHUP', 'SIGINT', 'SIGTERM', 'SIGKILL'] as const)(
    'leaves nothing when somebody sends %s to the guard itself',
    async (signal) => {
      const guard = await startGuard();
      const program = await guard.run(sleeper('program'));
      process.kill(guardPid(), signal);
      await untilNothingIsLeft();
      expect(await program.exited).toBeGreaterThan(128);
      await expect(guard.run(sleeper('another'))).rejects.toThrow('the guard has ended');
    },
  );
});

describe('the link of a guard', () => {
  let parent: string;
  let file: string;

  beforeEach(() => {
    parent = mkdtempSync(path.join(tmpdir(), 'latchkey-link-'));
    file = path.join(parent, 'a lock');
  });

  afterEach(() => rmSync(parent, { recursive: true }));

  it('is made for one of several guards and goes with it', async () => {
    const [one, other] = [await startGuard(parent), await startGuard(parent)];
    expect(await one.link(file)).toBe(true);
    expect(await other.link(file)).toBe(false);
    await one.stop();
    expect(existsSync(file)).toBe(false);
    expect(await other.link(file)).toBe(true);
  });

  it('stays when another guard has put its own there', async () => {
    const [one, other] = [await startGuard(parent), await startGuard(parent)];
    await one.link(file);
    rmSync(file);
    await other.link(file);
    await one.stop();
    expect(existsSync(file)).toBe(true);
  });

  it('is not made over a file', async () => {
    writeFileSync(file, 'mine');
    expect(await (await startGuard(parent)).link(file)).toBe(false);
    expect(readFileSync(file, 'utf8')).toBe('mine');
  });
});

describe('nothing is left of a program that owns guarded processes', () => {
  const fixtures = path.join(import.meta.dirname, 'fixtures');
  const path24 = `${path.dirname(process.execPath)}${path.delimiter}${process.env['PATH'] ?? ''}`;

  let owner: ChildProcess | undefined;

  // A failed test must not leave its processes, of all things.
  afterEach(() => owner?.kill('SIGKILL'));

  async function startOwner(command: string, args: readonly string[]): Promise<ChildProcess> {
    const child = spawn(command, [...args, label], {
      cwd: path.join(fixtures, 'npm'),
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, PATH: path24 },
    });
    owner = child;
    await once(child.stdout, 'data');
    await vi.waitFor(() => expect(programs().length).toBeGreaterThanOrEqual(2), soon);
    expect(folders()).toHaveLength(1);
    return child;
  }

  function programs(): string[] {
    return processes().filter((process) => process.includes('sh -c'));
  }

  const commands = [
    { who: 'the program', command: process.execPath, args: ['../guard-owner.ts'] },
    { who: 'npm', command: 'npm', args: ['run', '--silent', 'owner', '--'] },
    {
      who: 'npm, which runs it by the launcher',
      command: 'npm',
      args: ['run', '--silent', 'owner-by-launcher', '--'],
    },
  ];
  const cases = commands.flatMap((command) =>
    (['SIGINT', 'SIGTERM', 'SIGKILL'] as const).map((signal) => ({ ...command, signal })),
  );

  it.each(cases)('after $signal to $who', async ({ command, args, signal }) => {
    (await startOwner(command, args)).kill(signal);
    await untilNothingIsLeft();
  });

  it('after every node process of it got SIGKILL at the same time', async () => {
    await startOwner('npm', ['run', '--silent', 'owner-by-launcher', '--']);
    const nodes = processes().filter(
      (process) => !process.includes('sh -c') && !process.includes('guard.sh'),
    );
    expect(nodes).toHaveLength(3);
    for (const line of nodes) process.kill(Number.parseInt(line, 10), 'SIGKILL');
    await untilNothingIsLeft();
  });
});
