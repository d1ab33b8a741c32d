import { expect, it } from 'vitest';
import { requireNode } from './node-version.ts';

it.each(['24.9.0', '24.21.0', '26.0.0', '25.1.0-nightly'])('accepts Node %s', (version) => {
  expect(() => requireNode(version)).not.toThrow();
});

it.each(['20.20.2', '24.8.9', '22.99.0', 'x'])('refuses Node %s and says what is needed', (version) => {
  expect(() => requireNode(version)).toThrow(`Latchkey needs Node 24.9 or newer; this is Node ${version}`);
});
