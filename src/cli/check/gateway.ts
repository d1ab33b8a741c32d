import { asObject, asText, parseJSON } from '../../api/json.ts';
import { version } from '../../version.ts';
import { clockOffset, maxClockOffsetMs } from '../gateway/answers.ts';
import type { Platform } from '../gateway/platform.ts';
import { Failure } from '../shared/failure.ts';
import { type Finding, failed, ok } from './check.ts';

/** The gateway, as holders see it: its address, its certificate, its release and its clock. */
export async function checkGateway(gateway: Platform, now: () => number): Promise<readonly Finding[]> {
  const { baseURL } = gateway.connection;
  try {
    const answer = await gateway.send('/version', { timeoutMs: 10_000 });
    const served = asText(asObject(parseJSON(answer.text))['version']);
    if (answer.status !== 200 || served === undefined)
      return [
        failed(
          'base URL',
          `${baseURL} is no Latchkey gateway (it answers ${answer.status})`,
          'Lead the base URL to the Service of the gateway.',
        ),
      ];
    return [
      ok('base URL', `${baseURL} answers, and its certificate is trusted here`),
      served === version
        ? ok('release', served)
        : failed(
            'release',
            `the gateway is ${served}, and this command ${version}`,
            'Use the command of the same release.',
          ),
      clockFinding(clockOffset(answer, now())),
    ];
  } catch (error) {
    if (error instanceof Failure) return [failed('base URL', error.message, error.fix)];
    throw error;
  }
}

function clockFinding(offset: number | undefined): Finding {
  const seconds = Math.round(Math.abs(offset ?? 0) / 1_000);
  if (offset === undefined || Math.abs(offset) < maxClockOffsetMs) return ok('clock', `${seconds} s off`);
  return failed(
    'clock',
    `this machine is ${seconds} s ${offset > 0 ? 'ahead of' : 'behind'} the gateway`,
    'Set it by NTP.',
  );
}
