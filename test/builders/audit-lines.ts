import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { AuditOutput } from '../../src/audit/output.ts';
import { AuditSink, type AuditSinkOptions } from '../../src/audit/sink.ts';
import { systemClock } from '../../src/kube/clock.ts';
import { silentLogger } from '../../src/logger.ts';

/** A line of the audit log, as a reader sees it. */
export interface AuditEvent {
  readonly auditID: string;
  readonly stage: string;
  readonly stageTimestamp: string;
  readonly requestURI: string;
  readonly verb: string;
  readonly user: { readonly username: string; readonly groups: readonly string[] };
  readonly sourceIPs: readonly string[];
  readonly userAgent?: string;
  readonly objectRef?: Readonly<Record<string, string>>;
  readonly responseStatus?: { readonly code: number };
  /** By their names without the domain. */
  readonly annotations: Readonly<Record<string, string>>;
}

const domain = /^management\.platform\.sh\//;

/** Throws for a line that is no JSON, or does not fit the schema. */
export function readAuditEvent(line: string): AuditEvent {
  const event = JSON.parse(line);
  const problem = schemaProblem(schema, event, '');
  if (problem !== undefined) throw new Error(`${problem} in ${line}`);
  const annotations = Object.entries(event.annotations).map(([name, value]) => [
    name.replace(domain, ''),
    value,
  ]);
  return { ...event, annotations: Object.fromEntries(annotations) };
}

export const readAuditLog = (text: string): readonly AuditEvent[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map(readAuditEvent);

/** Whole lines that a process has written so far, which may be none yet. */
export const eventsIn = (file: string): readonly AuditEvent[] => {
  const log = existsSync(file) ? readFileSync(file, 'utf8') : '';
  return readAuditLog(log.slice(0, log.lastIndexOf('\n') + 1));
};

/** A sink that keeps what is written. */
export function memorySink(options: Partial<AuditSinkOptions> = {}) {
  const written: string[] = [];
  const counts = { written: 0, dropped: 0 };
  const output: AuditOutput = {
    maxBytes: 4_096,
    write: async (bytes) => {
      written.push(bytes.toString('latin1'));
      return bytes.length;
    },
    close: async () => undefined,
  };
  const sink = new AuditSink({
    ...{ mode: 'best-effort', output, clock: systemClock, log: silentLogger },
    count: (outcome, lines) => {
      counts[outcome] += lines;
    },
    ...options,
  });
  const text = () => written.join('');
  return { sink, counts, text, events: () => readAuditLog(text()) };
}

interface Schema {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly maxLength?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean;
  readonly items?: Schema;
}

export const schema: Schema = JSON.parse(
  readFileSync(path.join(import.meta.dirname, '../../docs/reference/audit-event.schema.json'), 'utf8'),
);

/** The first place that does not fit; of JSON Schema as much as ours uses. */
function schemaProblem(expected: Schema, value: unknown, place: string): string | undefined {
  if (!hasType(expected.type, value)) return `${place || 'the line'} is no ${expected.type}`;
  if (expected.const !== undefined && value !== expected.const) return `${place} is not ${expected.const}`;
  if (expected.enum !== undefined && !expected.enum.includes(value)) return `${place} is ${value}`;
  if (typeof value === 'string') return textProblem(expected, value, place);
  if (Array.isArray(value))
    return firstOf(value, (item, index) => schemaProblem(expected.items ?? {}, item, `${place}[${index}]`));
  return typeof value === 'object' && value !== null
    ? objectProblem(expected, value as Record<string, unknown>, place)
    : undefined;
}

function hasType(type: string | undefined, value: unknown): boolean {
  if (type === undefined) return true;
  if (type === 'array') return Array.isArray(value);
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value);
  return typeof value === type;
}

function textProblem({ pattern, maxLength }: Schema, value: string, place: string): string | undefined {
  if (maxLength !== undefined && value.length > maxLength) return `${place} is too long`;
  return pattern !== undefined && !new RegExp(pattern).test(value) ? `${place} is "${value}"` : undefined;
}

function objectProblem(
  { required = [], properties = {}, additionalProperties }: Schema,
  value: Record<string, unknown>,
  place: string,
): string | undefined {
  const missing = required.find((name) => !(name in value));
  if (missing !== undefined) return `${place}.${missing} is missing`;
  return firstOf(Object.entries(value), ([name, member]) => {
    const expected = properties[name];
    if (expected !== undefined) return schemaProblem(expected, member, `${place}.${name}`);
    return additionalProperties === false ? `${place}.${name} is not in the schema` : undefined;
  });
}

const firstOf = <T>(items: readonly T[], problem: (item: T, index: number) => string | undefined) =>
  items.map(problem).find((found) => found !== undefined);
