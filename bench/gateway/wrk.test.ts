import { describe, expect, it } from 'vitest';
import { parseWrk } from './wrk.ts';

const output = (extra = ''): string => `Running 5s test @ https://127.0.0.1:8443/api
  1 threads and 16 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     3.39ms    1.55ms  21.07ms   78.46%
    Req/Sec     4.77k   312.43     5.20k    72.00%
  Latency Distribution
     50%  750.00us
     75%    4.02ms
     90%    5.20ms
     99%    1.02s 
  23895 requests in 5.01s, 25.50MB read
${extra}Requests/sec:   4769.47
Transfer/sec:      5.09MB
`;

describe('what wrk prints', () => {
  it('says how many requests were answered, and how fast', () => {
    expect(parseWrk(output())).toEqual({
      requests: 23_895,
      seconds: 5.01,
      bytes: 25.5 * 2 ** 20,
      p50: 0.75,
      p99: 1_020,
    });
  });

  it.each(['  Non-2xx or 3xx responses: 12\n', '  Socket errors: connect 0, read 3, write 0, timeout 0\n'])(
    'is an error when it holds %j',
    (line) => {
      expect(() => parseWrk(output(line))).toThrow(line.trim());
    },
  );

  it('is an error when it is something else', () => {
    expect(() => parseWrk('unable to connect')).toThrow('wrk said something unknown: unable to connect');
  });
});
