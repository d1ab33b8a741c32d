import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { kubernetesVersion } from '../../../lab/controlplane/versions.ts';
import type { RecordedRequest, Recording } from '../../clients/recorded/recording.ts';
import { clientNodeAnswers } from './client-node-calls.ts';
import { issuedKubeconfigs } from './issued-kubeconfigs.ts';
import { differentCalls, kubectlCalls, withoutWhatVaries } from './kubectl-calls.ts';
import { type Answer, doorOf, Replay } from './replay.ts';

const { world, targets } = await issuedKubeconfigs();

const issued = targets['virtual cluster'];

describe('kubectl with a kubeconfig for a virtual cluster', () => {
  it('gets the answers that it gets directly, but for those that the documents name', async () => {
    const answers = async (kubeconfig: string) => {
      const all: string[] = [];
      for (const [command, input = ''] of kubectlCalls) {
        const { stdout, stderr, exitCode } = await world.plane.kubectl(command.split(' '), {
          kubeconfig,
          input,
        });
        all.push(withoutWhatVaries(`${exitCode}\n${stdout}\n${stderr}`));
      }
      return all;
    };
    const [direct, through] = [await answers(issued.direct), await answers(issued.kubeconfig)];
    const different = kubectlCalls.flatMap(([command], i) => {
      if (differentCalls.includes(command)) expect(through[i]).not.toBe(direct[i]);
      else if (through[i] !== direct[i]) return [[command, direct[i], through[i]]];
      return [];
    });
    expect(different).toEqual([]);
    expect(through[0]).toContain(`Client Version: v${kubernetesVersion}\n`);
  });
});

describe.each(Object.entries(targets))('client-node with a kubeconfig for a %s', (_, target) => {
  it('gets the answers that it gets directly', async () => {
    const at = { namespace: target.namespace, name: world.name('calls') };
    const expected = await clientNodeAnswers({ ...at, kubeconfig: target.direct });
    expect(await clientNodeAnswers({ ...at, kubeconfig: target.kubeconfig })).toEqual(expected);
    expect(Object.values(expected).filter((answer) => Object.hasOwn(Object(answer), 'failed'))).toEqual([]);
    expect(expected['watch and inform']).toEqual({
      watch: ['BOOKMARK', 'ADDED', 'MODIFIED', 'DELETED'],
      informer: ['add', 'update', 'delete'],
    });
  });
});

const folder = path.resolve(import.meta.dirname, '../../clients/recorded');
const recordings: readonly Recording[] = readdirSync(folder)
  .filter((file) => file.endsWith('.json'))
  .map((file) => JSON.parse(readFileSync(path.join(folder, file), 'utf8')));

/** A difference that docs/reference/clients.md names: what the gateway answers then. */
function namedDifference(request: RecordedRequest): Partial<Answer> | undefined {
  if (/\/selfsubject(?:rules)?reviews\b/.test(request.path)) return { status: 201 };
  return undefined;
}

describe.each(recordings)('the requests of $title', ({ requests }) => {
  it('get the answers that they get directly, but for those that the documents name', async () => {
    const answers = async (kubeconfig: string) => {
      const replay = new Replay(await doorOf(kubeconfig));
      const all: Answer[] = [];
      for (const request of requests) all.push(await replay.send(request));
      return all;
    };
    const [expected, found] = [await answers(issued.direct), await answers(issued.kubeconfig)];
    const different = requests.flatMap((request, i) => {
      const line = `${request.method} ${request.path}`;
      const [answer, own] = [expected[i] as Answer, found[i] as Answer];
      const named = namedDifference(request);
      if (named !== undefined) expect({ line, ...own }).toMatchObject({ line, ...named });
      else if (JSON.stringify(own) !== JSON.stringify(answer)) return [{ line, answer, own }];
      return [];
    });
    expect(different).toEqual([]);
    const refused = expected.filter(({ status }) => status >= 400);
    expect(refused.length).toBeLessThan(requests.length / 4);
  });
});
