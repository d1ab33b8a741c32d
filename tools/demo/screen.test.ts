import { SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { renderNewcomers, renderStory, renderTrials } from './screen.ts';
import { lifeOf, type Story } from './story.ts';

const life = (serial: string, at: string, end: string) => ({
  ...{ serial, issued: new Date(`2026-11-23T${at}Z`), end: new Date(`2026-11-23T${end}Z`) },
});
const inside = '/kubernetes/project/demo/virtualcluster/shop/api/v1/namespaces';
const story: Story = {
  created: ['oak/bob-laptop created', 'dcet/bob-staging created'],
  mayRead: { user: 'no', administrator: 'yes' },
  inside: { path: inside, status: 200, text: '5 namespaces' },
  outside: { path: '/kubernetes/management/api/v1/namespaces', status: 403, text: 'x'.repeat(200) },
  renewed: [life('1', '14:00:00', '14:01:00'), life('2', '14:00:30', '14:01:30')],
  disabled: { path: inside, status: 401, text: 'the access key is disabled. Send another' },
  deleted: { path: inside, status: 401, text: 'it is unknown' },
};

describe('the screen of the demo', () => {
  const text = renderStory(story);

  it('tells what happened in its order', () => {
    const order = [
      'bob-laptop created',
      '5 namespaces',
      '403  GET',
      'serial 1, issued 14:00:00, ends 14:01:00',
      'serial 2, issued 14:00:30, ends 14:01:30',
      'alice yes, bob no',
      'alice$ kubectl patch',
      '401  the same request: the access key is disabled\n',
      'bob$ kubectl delete',
      'it is unknown',
    ].map((shown) => text.indexOf(shown));
    expect(order).toEqual(order.toSorted((one, other) => one - other));
    expect(order[0]).toBeGreaterThan(0);
  });

  it('tells of newcomers command by command, and sets the columns of a table closer', () => {
    const targets = ['NAME         PARENT   REASON', 'bob-laptop            Issued'];
    const newcomers = renderNewcomers({
      person: [{ command: 'latchkey targets', said: targets }, '  A shell is not shown.'],
      pipeline: [{ command: 'latchkey exchange --trust ci', said: [] }],
    });
    expect(newcomers).toContain(
      '  dana$ latchkey targets\n    NAME        PARENT  REASON\n    bob-laptop          Issued\n  A shell is not shown.\n',
    );
    expect(newcomers).toMatch(/\n {2}job\$ latchkey exchange --trust ci$/);
  });

  it('has no line that a terminal of 100 columns would break', () => {
    const widths = text.split('\n').map((line) => line.length);
    expect(Math.max(...widths)).toBe(100);
    expect(text).toContain('x…');
  });

  it('says how to go on, and where each process answers', () => {
    const trials = renderTrials({
      environment: '/x/env',
      pageURL: 'https://keys.localhost:5',
      addresses: [
        { name: 'operator', metrics: 'http://127.0.0.1:1/metrics', probe: 'http://127.0.0.1:2/readyz' },
        { name: 'gateway', metrics: 'http://127.0.0.1:3/metrics', probe: 'http://127.0.0.1:4/readyz' },
      ],
    });
    expect(trials.split('\n')).toContain('  source /x/env');
    expect(trials).toMatch(/^ {2}https:\/\/keys\.localhost:5 +the page: paste \$KEY/m);
    expect(trials).toMatch(
      /^ {2}operator +http:\/\/127\.0\.0\.1:1\/metrics +http:\/\/127\.0\.0\.1:2\/readyz$/m,
    );
    expect(trials).toMatch(
      /^ {2}gateway +http:\/\/127\.0\.0\.1:3\/metrics +http:\/\/127\.0\.0\.1:4\/readyz$/m,
    );
  });
});

it('reads serial and life of a token, and refuses another one', async () => {
  const sign = async (jti: string) =>
    await new SignJWT({ jti, iat: 1_795_318_007, exp: 1_795_318_067 })
      .setProtectedHeader({ alg: 'HS256' })
      .sign(new Uint8Array(32));
  expect(lifeOf(await sign('df4d3069.2'))).toEqual({
    serial: '2',
    issued: new Date(1_795_318_007_000),
    end: new Date(1_795_318_067_000),
  });
  const other = await sign('df4d3069');
  expect(() => lifeOf(other)).toThrow('no token of Latchkey');
});
