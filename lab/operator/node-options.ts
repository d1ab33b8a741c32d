import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';

const configFolder = path.join(import.meta.dirname, '../../config');

/** Reads the Node options in this command's Deployment: without them, a process here has more memory than in production. */
export function shippedNodeOptions(command: 'operator' | 'gateway' | 'direct-endpoint'): string {
  const { spec } = parse(readFileSync(path.join(configFolder, command, 'deployment.yaml'), 'utf8'));
  const [{ env }] = spec.template.spec.containers as [{ env: readonly EnvironmentVariable[] }];
  return env.find(({ name }) => name === 'NODE_OPTIONS')?.value ?? '';
}

interface EnvironmentVariable {
  readonly name: string;
  readonly value: string;
}
