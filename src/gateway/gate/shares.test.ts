import { expect, it } from 'vitest';
import { verdictFor } from '../../../test/builders/gateway-stage.ts';
import { shareOf } from './shares.ts';

const agentOf = (user: string, cluster: string) =>
  shareOf(verdictFor({ roles: [{ role: 'agent' }], clusters: [{ cluster }] }, user));

it('all agents of a user have one share, apart from the rest of that user and from those of others', () => {
  const rest = shareOf(verdictFor({}, 'ann'));
  expect(rest).toBe('ann');
  expect(agentOf('ann', 'west')).toBe(agentOf('ann', 'east'));
  expect(new Set([agentOf('ann', 'west'), agentOf('bob', 'west'), rest]).size).toBe(3);
});
