import type { CredentialKind } from '../../src/credentials/record.ts';
import { type Form, forms, objectText } from './record-memory-forms.ts';

/**
 * Prints the bytes of heap that one record takes: `node --expose-gc record-memory-process.ts <form> <kind> <count>`.
 * A process of its own for each figure, so that nothing which an earlier one left behind is counted.
 */
const [form, kind, count] = process.argv.slice(2);
process.stdout.write(`${measure(form as Form, kind as CredentialKind, Number(count))}\n`);

function measure(form: Form, kind: CredentialKind, count: number): number {
  const make = (index: number) => forms[form](JSON.parse(objectText(kind, index)), kind);
  // Memory that is taken once, by compiled code above all, belongs to no record.
  for (let index = 0; index < 500; index++) make(index);
  const kept = new Array<unknown>(count).fill(undefined);
  const before = heapUsed();
  for (let index = 0; index < count; index++) kept[index] = make(index);
  const bytes = heapUsed() - before;
  return Math.round(bytes / kept.length);
}

function heapUsed(): number {
  if (globalThis.gc === undefined) throw new Error('run it with --expose-gc');
  globalThis.gc();
  globalThis.gc();
  const { heapUsed: bytes, external } = process.memoryUsage();
  return bytes + external;
}
