import { describe, expect, it } from 'vitest';
import { run } from './print-config.ts';

async function printed(...args: readonly string[]): Promise<string> {
  const lines: string[] = [];
  await run({
    environment: { LATCHKEY_BASE_URL: 'https://latchkey.example.com', LATCHKEY_ENDPOINT_CLUSTER: 'edge' },
    args,
    signal: AbortSignal.abort(),
    print: (line) => lines.push(line),
  });
  return lines.join('\n');
}

describe('latchkey direct-endpoint print-config', () => {
  it('leads the API server to the only path of the webhook, by default on its own machine', async () => {
    expect(await printed('kubeconfig')).toContain('server: https://127.0.0.1:8445/authorize\n');
    expect(await printed('kubeconfig', '--url=https://10.96.0.77:8445')).toContain(
      'server: https://10.96.0.77:8445/authorize\n',
    );
  });

  it('names the folder in which the API server finds the files', async () => {
    expect(await printed('authorization')).toContain('/etc/kubernetes/latchkey/webhook.kubeconfig');
    expect(await printed('--folder', '/etc/rancher', 'authorization')).toContain(
      '/etc/rancher/webhook.kubeconfig',
    );
  });

  it.each([
    [
      'a URL with a path, at which the webhook would have no answer',
      'kubeconfig --url=https://10.96.0.77/x',
      '--url must not have a path: write https://10.96.0.77',
    ],
    [
      'a folder that the API server would look for in its own',
      'kubeconfig --folder=latchkey',
      '--folder must be an absolute path',
    ],
    ['another option', 'kubeconfig --file=a', "Unknown option '--file'"],
    ['another file', 'secrets', 'name one of authentication, authorization, kubeconfig'],
    ['two files', 'kubeconfig authorization', 'name one of'],
  ])('refuses %s', async (_, line, problem) => {
    await expect(printed(...line.split(' '))).rejects.toMatchObject({
      code: 'ERR_USAGE',
      message: expect.stringContaining(problem),
    });
  });
});
