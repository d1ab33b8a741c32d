import { describe, expect, it } from 'vitest';
import { conditionOf, type Stored } from '../../../lab/operator/api.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { labels } from '../../../src/api/names.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { namespaces } from '../../../src/api/resources.ts';

const world = await operatorWorld();
const { admin } = world;

const says = (object: Stored): boolean => conditionOf(object, 'ScopeMatchesNothing') !== undefined;

async function createProject(project: string): Promise<void> {
  const metadata = { name: `p-${project}`, labels: { [labels.project]: project } };
  await admin.client.create(namespaces, { metadata });
}

describe.concurrent.each([
  ['an access key', (scope: object) => admin.createKey({ user: 'alice', scope })],
  ['a token', (scope: object) => admin.createToken({ scope })],
])('%s whose scope names a project that does not exist', (_, make) => {
  it('works and says so once, until there is the project', async () => {
    const project = world.name('shop');
    const made = await make({ projects: [{ project }] });
    await admin.until(made, 'the condition', says);
    const event = await admin.untilEvent(made, reasons.scopeMatchesNothing);
    expect(event).toMatchObject({ type: 'Warning', note: expect.stringContaining(`no project ${project}`) });
    expect(conditionOf(await admin.get(made))).toMatchObject({ type: 'Ready', status: 'True' });
    await createProject(project);
    await admin.until(made, 'no such condition', (object) => !says(object));
    const events = (await admin.eventsOf(made)).filter(
      ({ reason }) => reason === reasons.scopeMatchesNothing,
    );
    expect(events).toHaveLength(1);
    expect(events[0]).not.toHaveProperty('series');
  });
});
