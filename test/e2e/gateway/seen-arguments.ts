import { readdirSync, readFileSync } from 'node:fs';

/** The arguments of all processes that work below one home, as everyone on a machine may read them. */
export class SeenArguments {
  readonly #lines = new Set<string>();
  readonly #timer: NodeJS.Timeout;

  constructor(home: string) {
    this.#timer = setInterval(() => this.#look(home), 100);
  }

  get lines(): readonly string[] {
    return [...this.#lines];
  }

  end(): void {
    clearInterval(this.#timer);
  }

  #look(home: string): void {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      if (!read(pid, 'environ').includes(`HOME=${home}`)) continue;
      this.#lines.add(read(pid, 'cmdline').replaceAll('\0', ' '));
    }
  }
}

function read(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    // It has just ended, or is somebody else's.
    return '';
  }
}
