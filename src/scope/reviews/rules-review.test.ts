import { expect, it } from 'vitest';
import { markIncomplete } from './rules-review.ts';

it('keeps the rules and says that they are not all', () => {
  const review = {
    kind: 'SelfSubjectRulesReview',
    status: { resourceRules: [{ verbs: ['*'] }], incomplete: false },
  };
  expect(markIncomplete(review)).toEqual({
    kind: 'SelfSubjectRulesReview',
    status: {
      resourceRules: [{ verbs: ['*'] }],
      incomplete: true,
      evaluationError: expect.stringContaining('scope'),
    },
  });
  expect(markIncomplete({})).toMatchObject({ status: { incomplete: true } });
});
