import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';

const configFolder = path.join(import.meta.dirname, '../../config');

/** What the Deployment of this command gives to Node: without it, a process here has more memory than the one that people run. */
export function shippedNodeOptions(command: 'operator' | 'gateway'): string {
  const { spec } = parse(readFileSync(path.join(configFolder, command, 'deployment.yaml'), 'utf8'));
  const [{ env }] = spec.template.spec.containers as [{ env: readonly EnvironmentVariable[] }];
  return env.find(({ name }) => name === 'NODE_OPTIONS')?.value ?? '';
}

interface EnvironmentVariable {
  readonly name: string;
  readonly value: string;
}
