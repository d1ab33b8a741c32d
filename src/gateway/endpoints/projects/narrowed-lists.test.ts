import { afterEach, expect, it } from 'vitest';
import {
  type Behaviour,
  type GatewayStage,
  gatewayStage,
  verdictFor,
} from '../../../../test/builders/gateway-stage.ts';
import { waitFor } from '../../../../test/fakes/wait-for.ts';

const running: GatewayStage[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((stage) => stage.close()));
});

const scope = { rules: [{ resources: [{ group: 'example.com', resources: ['*'] }] }] };
const request = (key: string) =>
  [
    'GET /kubernetes/management/apis/example.com/v1/widgets HTTP/1.1',
    ...['Host: a', 'Connection: close', `Authorization: Bearer ${key}`, '', ''],
  ].join('\r\n');
const widgets = { resources: [{ name: 'widgets', namespaced: true }] };
const text = (body: object): string => {
  const json = JSON.stringify(body);
  return `HTTP/1.1 200 OK\r\nContent-Length: ${json.length}\r\n\r\n${json}`;
};

it('one user with many lists of all namespaces leaves others a turn to ask who serves a group', async () => {
  let unanswered = 0;
  let isSilent = true;
  const behaviour: Behaviour = (socket, sent) => {
    const isOfServer = sent.startsWith('GET /apis/apiregistration.k8s.io/v1/apiservices/v1.example.com ');
    if (isOfServer && isSilent) unanswered += 1;
    else socket.write(text(isOfServer ? { spec: {} } : widgets));
  };
  const stage = await gatewayStage(behaviour, { connections: 4 });
  running.push(stage);
  stage.know('key-of-mallory', verdictFor(scope, 'mallory'));
  stage.know('key-of-alice', verdictFor(scope));
  for (let count = 0; count < 10; count += 1) void stage.send(request('key-of-mallory'));
  await waitFor('the questions of mallory', () => unanswered === 2);
  isSilent = false;
  expect(await stage.send(request('key-of-alice'))).toContain('200 OK');
  expect(stage.seen.at(-1)).toMatch(
    /^GET \S+\/widgets\?fieldSelector=metadata\.namespace!%3Dlatchkey-system/,
  );
  expect(unanswered).toBe(2);
});
