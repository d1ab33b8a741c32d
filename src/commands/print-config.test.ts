import { describe, expect, it } from 'vitest';
import { run } from './print-config.ts';

async function printed(file: string, environment: Record<string, string> = {}): Promise<string> {
  const lines: string[] = [];
  await run({
    environment: {
      LATCHKEY_BASE_URL: 'https://latchkey.example.com',
      LATCHKEY_ENDPOINT_CLUSTER: 'edge',
      ...environment,
    },
    args: [file],
    signal: AbortSignal.abort(),
    print: (line) => lines.push(line),
  });
  return lines.join('\n');
}

describe('latchkey direct-endpoint print-config', () => {
  it('leads the API server to the only path of the webhook', async () => {
    const environment = { LATCHKEY_ENDPOINT_WEBHOOK_URL: 'https://10.96.0.77:8445' };
    expect(await printed('kubeconfig', environment)).toContain('server: https://10.96.0.77:8445/authorize\n');
  });

  it('refuses a URL with a path, at which the webhook would have no answer', async () => {
    const environment = { LATCHKEY_ENDPOINT_WEBHOOK_URL: 'https://10.96.0.77:8445/x' };
    await expect(printed('kubeconfig', environment)).rejects.toMatchObject({
      code: 'ERR_SETTINGS_INVALID',
      message: expect.stringContaining(
        'LATCHKEY_ENDPOINT_WEBHOOK_URL must not have a path: write https://10.96.0.77:8445',
      ),
    });
  });
});
