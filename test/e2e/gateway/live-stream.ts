import type { RunningGateway } from '../../../lab/gateway/running-gateway.ts';
import { until } from '../../../lab/operator/until.ts';
import type { LiveLine, LiveLineType, LiveObjects } from '../../../src/api/live-credentials.ts';
import { apiVersion } from '../../../src/api/names.ts';
import { LineSplitter } from '../../../src/kube/client/line-splitter.ts';

export const streamPath = (cluster: string): string =>
  `/kubernetes/management/apis/${apiVersion}/clusters/${cluster}/livecredentials?watch=true`;

/** The lines of one stream so far, and when each came. */
export interface LiveStream {
  readonly lines: readonly LiveLine[];
  /** Resolves with the first line of this type that fits, now or later. */
  find<Type extends LiveLineType>(
    type: Type,
    fits?: (object: LiveObjects[Type]) => boolean,
  ): Promise<LiveObjects[Type]>;
  timeOf(line: LiveObjects[LiveLineType]): number;
  /** Resolves when the gateway has ended it. */
  readonly ended: Promise<'cut'>;
  leave(): void;
}

/** Reads the stream of a cluster as its agent. */
export async function liveStream(gateway: RunningGateway, cluster: string, key: string): Promise<LiveStream> {
  const { statusCode, body } = await gateway.send(streamPath(cluster), { key });
  if (statusCode !== 200) throw new Error(`the stream was refused: ${await body.text()}`);
  const lines: LiveLine[] = [];
  const times = new Map<object, number>();
  const splitter = new LineSplitter(2 ** 20);
  const read = async (): Promise<'cut'> => {
    for await (const chunk of body)
      for (const text of splitter.push(chunk as Buffer)) {
        const line = JSON.parse(text) as LiveLine;
        times.set(line.object, performance.now());
        lines.push(line);
      }
    return 'cut';
  };
  return {
    lines,
    find: async (type, fits = () => true) => {
      const look = async () =>
        lines.find((line) => line.type === type && fits(line.object as never))?.object as never;
      return await until(`a line ${type}`, look);
    },
    timeOf: (line) => times.get(line) ?? Number.NaN,
    ended: read().catch(() => 'cut' as const),
    leave: () => body.destroy(),
  };
}
