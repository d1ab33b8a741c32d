import { describe, expect, it } from 'vitest';
import { loadCommand } from './index.ts';

describe('loadCommand', () => {
  it.each(['agent', 'toString', ''])('refuses the unknown command "%s"', async (name) => {
    await expect(loadCommand(name)).rejects.toMatchObject({
      code: 'ERR_COMMAND_UNKNOWN',
      message: `unknown command "${name}"; the commands are: operator, gateway, direct-endpoint, direct-endpoint print-config, version`,
    });
  });

  it('loads a command that runs', async () => {
    const lines: string[] = [];
    const run = await loadCommand('version');
    const context = {
      environment: {},
      signal: new AbortController().signal,
      print: (line: string) => void lines.push(line),
    };
    await expect(run(context)).resolves.toBe(0);
    expect(lines).toEqual([expect.stringMatching(/^latchkey \d+\.\d+\.\d+ \(node 2/)]);
  });
});
