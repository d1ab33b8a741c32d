import { formatMicroTime } from '../../api/instant.ts';

export interface RegardingObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion?: string;
}

export interface EventInput {
  readonly regarding: RegardingObject;
  readonly type: 'Normal' | 'Warning';
  /** Why, as one word for machines. */
  readonly reason: string;
  /** The action or try, as one word. */
  readonly action: string;
  /** For people; cut at 1,024 bytes. Never a secret. */
  readonly note: string;
}

/** The same event, once or many times. Times are epoch milliseconds. */
export interface EventSeries {
  readonly input: EventInput;
  readonly name: string;
  readonly first: number;
  last: number;
  count: number;
}

export interface Reporter {
  readonly reportingController: string;
  readonly reportingInstance: string;
}

const maxNoteBytes = 1024;
const maxFieldLength = 128;

/** Events of cluster-scoped objects stand in `default`, where kubectl looks for them. */
export function eventNamespace({ regarding }: EventInput): string {
  return regarding.namespace ?? 'default';
}

/**
 * The key that makes two events the same one. The API server keeps the note of the first, so one with another note is another event: a
 * count says how often that very thing happened.
 */
export function seriesKey({ regarding, type, reason, action, note }: EventInput): string {
  const { kind, namespace, name, uid } = regarding;
  return [kind, namespace, name, uid, type, reason, action, note].join('\n');
}

/** `suffix` makes the name unique among the events of the object. */
export function eventName({ regarding }: EventInput, suffix: string): string {
  return `${regarding.name.slice(0, 252 - suffix.length).replace(/[-.]+$/, '')}.${suffix}`;
}

/** The `events.k8s.io/v1` object. */
export function eventObject(series: EventSeries, reporter: Reporter): object {
  const { input, name } = series;
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name, namespace: eventNamespace(input) },
    eventTime: formatMicroTime(series.first),
    reportingController: reporter.reportingController,
    reportingInstance: reporter.reportingInstance.slice(0, maxFieldLength),
    action: input.action.slice(0, maxFieldLength),
    reason: input.reason.slice(0, maxFieldLength),
    regarding: input.regarding,
    note: cutBytes(input.note, maxNoteBytes),
    type: input.type,
    ...(series.count > 1 ? seriesPatch(series) : {}),
  };
}

/** The part that changes when the event happens again. */
export function seriesPatch({ count, last }: EventSeries): { series: object } {
  return { series: { count, lastObservedTime: formatMicroTime(last) } };
}

function cutBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= maxBytes) return text;
  const cut = bytes
    .subarray(0, maxBytes - 3)
    .toString('utf8')
    .replace(/\uFFFD+$/, '');
  return `${cut}…`;
}
