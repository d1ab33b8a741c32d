import { describe, expect, it } from 'vitest';
import { parseCpuSeconds, parseMemory, usageOf } from './process-usage.ts';

describe('the usage of a process', () => {
  const rest = 'S 1 42 42 0 -1 4194560 9000 0 0 0 1234 66 0 0 20 0 11 0 5000 1000000 2000';

  it.each([`42 (node) ${rest}`, `42 (a (b) c) ${rest}`])('counts user and system time in %s', (stat) => {
    expect(parseCpuSeconds(stat)).toBe(13);
  });

  it('reads the memory, and its peak', () => {
    const status = 'Name:\tnode\nVmPeak:\t  999999 kB\nVmHWM:\t   81920 kB\nVmRSS:\t   1024 kB\n';
    expect(parseMemory(status, 'VmHWM')).toBe(80);
    expect(parseMemory(status, 'VmRSS')).toBe(1);
  });

  it.each(['', '42 (node)', '42 (node) S 1'])('is an error for %j', (stat) => {
    expect(() => parseCpuSeconds(stat)).toThrow('no CPU times');
    expect(() => parseMemory(stat, 'VmHWM')).toThrow('no VmHWM');
  });

  it('can be read from this very process', async () => {
    const { cpuSeconds, peakMebibytes, residentMebibytes } = await usageOf(process.pid);
    expect(cpuSeconds).toBeGreaterThan(0);
    expect(residentMebibytes).toBeGreaterThan(10);
    expect(peakMebibytes).toBeGreaterThanOrEqual(residentMebibytes);
  });
});
