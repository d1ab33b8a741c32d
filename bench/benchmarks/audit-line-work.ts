import { EventEmitter } from 'node:events';
import { rmSync, truncateSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { FileOutput } from '../../src/audit/output.ts';
import { AuditSink } from '../../src/audit/sink.ts';
import { toLiveRecord } from '../../src/credentials/live-record.ts';
import { RequestAudits } from '../../src/gateway/audit/request-audits.ts';
import type { Authenticated } from '../../src/gateway/gate/authenticate.ts';
import { resolve } from '../../src/gateway/gate/authorise.ts';
import type { Verdict } from '../../src/gateway/index/verdict.ts';
import { systemClock as clock } from '../../src/kube/clock.ts';
import { silentLogger } from '../../src/logger.ts';
import { namespaces, storedKey } from '../gateway/stored-keys.ts';
import type { Operation, Works } from '../measure/worker-process.ts';

/** The works of `audit-line`; each in a process of its own. */
export const works = { toFile, nothing } as const satisfies Works;

export type WorkName = keyof typeof works;

/** Lines that wait to be written when the next requests wait for them. */
const maxWaiting = 200;
/** Half a gigabyte. A file of four of them costs the kernel three times as much for each further line, and logs are rotated before that. */
const maxFileLines = 500_000;

/** From the head of a request to its line in a file, by the code of the gateway. */
async function toFile(): Promise<Operation> {
  const file = path.join(tmpdir(), `latchkey-audit-line-${process.pid}.log`);
  process.on('exit', () => rmSync(file, { force: true }));
  const output = new FileOutput(file);
  let waiting = 0;
  let inFile = 0;
  let onWritten: () => void = () => undefined;
  const count = (outcome: 'written' | 'dropped', lines: number) => {
    if (outcome === 'dropped') throw new Error('a line was dropped');
    waiting -= lines;
    inFile += lines;
    if (inFile >= maxFileLines) {
      truncateSync(file);
      inFile = 0;
    }
    onWritten();
  };
  const sink = new AuditSink({ mode: 'best-effort', output, clock, log: silentLogger, count });
  const audits = new RequestAudits({ sink, clock, withHash: () => [], clientAddress: () => '10.0.0.7' });
  const each = ofRequests((request, response, turn) => {
    const audit = audits.begin(request, response);
    audit.constant = audits.constantOf(sender, []);
    audit.asked = asked[turn % asked.length];
    audit.allowed();
    audit.upstream('0d6f5a3c-7a8e-4a36-9d3f-0c6f0f6c1b52');
    audit.began();
  });
  return async () => {
    each();
    waiting += 1;
    if (waiting < maxWaiting) return;
    const written = Promise.withResolvers<void>();
    onWritten = written.resolve;
    await written.promise;
  };
}

/** The same requests, and no line. */
async function nothing(): Promise<Operation> {
  return ofRequests(() => undefined);
}

const record = toLiveRecord(storedKey(0, { now: Date.now() }), 'OwnedAccessKey');
const impersonation = [
  'impersonate-user',
  'dana',
  'impersonate-group',
  'developers',
  'impersonate-group',
  'system:authenticated',
];
const verdict = { impersonation, record, ancestors: [] } as unknown as Verdict;
const sender: Authenticated = { verdict, hash: `sha256:${'0'.repeat(64)}` } as Authenticated;

const paths = Array.from(
  { length: 64 },
  (_, index) => `/kubernetes/management/api/v1/namespaces/${namespaces.small}/configmaps/object-${index}`,
);
const asked = paths.map((target) => {
  const found = resolve({ method: 'GET', target, contentType: undefined });
  if ('status' in found) throw new Error(`not understood: ${found.body}`);
  return found;
});

class Answer extends EventEmitter {
  readonly headersSent = true;
  readonly statusCode = 200;
}

function ofRequests(
  each: (request: IncomingMessage, response: ServerResponse, turn: number) => void,
): Operation {
  const socket = { remoteAddress: '10.0.0.7' };
  const headers = { 'user-agent': 'kubectl/v1.36.0 (linux/amd64) kubernetes/0000000' };
  let turn = 0;
  return () => {
    turn += 1;
    const request = {
      url: paths[turn % paths.length],
      method: 'GET',
      headers,
      socket,
    } as unknown as IncomingMessage;
    const response = new Answer() as unknown as ServerResponse;
    each(request, response, turn);
    response.emit('close');
  };
}
