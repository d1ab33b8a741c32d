import { describe, expect, it } from 'vitest';
import { helpText, readCommandLine } from './command-line.ts';

describe('readCommandLine', () => {
  it.each([
    [['operator'], { help: false, command: 'operator' }],
    [['--version'], { help: false, command: 'version' }],
    [['-v'], { help: false, command: 'version' }],
    [['--help'], { help: true }],
    [['operator', '-h'], { help: true }],
    [['help'], { help: true }],
    [
      ['direct-endpoint', 'print-config', 'authorization'],
      { help: false, command: 'direct-endpoint print-config', args: ['authorization'] },
    ],
    [
      ['direct-endpoint', 'print-config', 'kubeconfig', '--url', 'https://10.96.0.77:8445'],
      {
        help: false,
        command: 'direct-endpoint print-config',
        args: ['kubeconfig', '--url', 'https://10.96.0.77:8445'],
      },
    ],
    [['direct-endpoint', 'print-config', '--help'], { help: true }],
  ])('reads %j', (args, invocation) => {
    expect(readCommandLine(args)).toEqual(invocation);
  });

  it.each([
    [[], 'no command given'],
    [['operator', 'now'], 'the command operator takes no arguments'],
    [['direct-endpoint', 'now'], 'the command direct-endpoint takes no arguments'],
    [['--base-url=x'], "Unknown option '--base-url'"],
  ])('refuses %j', (args, problem) => {
    expect(() => readCommandLine(args)).toThrow(problem);
    expect(() => readCommandLine(args)).toThrow(expect.objectContaining({ code: 'ERR_USAGE' }));
  });
});

describe('helpText', () => {
  it('lists every command with its summary', () => {
    const text = helpText({
      operator: { summary: 'Reconciles' },
      version: { summary: 'Prints the version' },
    });
    expect(text).toContain('  operator  Reconciles\n  version   Prints the version\n');
  });
});
