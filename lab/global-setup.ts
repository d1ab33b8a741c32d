import path from 'node:path';
import type { TestProject } from 'vitest/node';
import { buildBundle } from '../tools/bundle/build-bundle.ts';
import { endWithNpm } from './controlplane/end-with-npm.ts';
import { Guard } from './controlplane/guard.ts';
import { sharedProgramsVariable } from './go/build-program.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The program as the image holds it, for the operators that tests start. */
    bundle: string;
  }
}

/**
 * For etcd, the API servers and kubectl, which are written in Go and take most of the processor: with more room for garbage they
 * collect it less often. What a worker starts inherits it.
 */
const goMemory = { GOGC: '400', GOMEMLIMIT: '1GiB' };

/** Builds the program; the function that it returns takes it away. Control planes are started by who first needs one. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  endWithNpm();
  Object.assign(process.env, { ...goMemory, ...process.env });
  const guard = await Guard.start('bundle');
  process.env[sharedProgramsVariable] = guard.folder;
  const bundle = path.join(guard.folder, 'latchkey.mjs');
  await buildBundle(bundle);
  project.provide('bundle', bundle);
  return async () => await guard.stop();
}
