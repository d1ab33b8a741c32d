import { clusters } from '../../../api/resources.ts';
import type { AccessQuestion } from '../../../platform/access-review.ts';
import { liveCredentials } from '../../../scope/gate/agents.ts';

/** The right that the user of an agent needs. A scope only narrows, so without it anyone could make a key that reads the stream. */
export const rightToFollow = (cluster: string): AccessQuestion & { readonly namespace: string } => ({
  ...{ verb: 'get', resource: clusters.plural, subresource: liveCredentials },
  ...{ namespace: '', name: cluster },
});
