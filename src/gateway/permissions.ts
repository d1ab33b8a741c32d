import type { KubeClient } from '../kube/client/client.ts';
import type { GatewaySettings } from '../settings/gateway.ts';
import { EntryPermissions, type EntryPermissionsOptions } from './gate/entry-permissions.ts';
import { askAsUser, Questions, questionsAtOnce } from './gate/questions.ts';
import { upstreamLimits } from './limits.ts';

export interface PermissionsOptions extends Pick<EntryPermissionsOptions, 'clock' | 'random' | 'log'> {
  readonly settings: GatewaySettings;
  /** Asks about requests under way, as the user of a credential. It shares no connection with what asks about new ones. */
  readonly staying: KubeClient;
}

/** Returns the rights of those who send requests. New requests and those under way have lines of their own. */
export const createPermissions = (
  options: PermissionsOptions & Pick<EntryPermissionsOptions, 'onLost'> & { readonly entering: KubeClient },
): EntryPermissions => {
  const { clock, settings } = options;
  const { maxConnections, staleAfterMs: maxStayMs } = settings;
  const { maxWaiting, maxWaitMs } = upstreamLimits(settings);
  const shared = { clock, maxWaiting, maxWaitMs };
  return new EntryPermissions({
    ...{ ...options, maxConnections, maxStayMs },
    entering: new Questions({
      ...shared,
      isAllowed: askAsUser(options.entering),
      max: questionsAtOnce.entering,
    }),
    staying: new Questions({
      ...shared,
      isAllowed: askAsUser(options.staying),
      max: questionsAtOnce.staying,
    }),
  });
};

/** Users of tokens in each of the clusters that are followed. The slots limit the rate of questions anyway. */
const maxFollowed = 100_000;
/** Of the users whose right is asked again; streams themselves ask a few at a time. */
const maxFollowingWaiting = 10_000;

/**
 * Returns the rights of users whose tokens direct endpoints follow. There may be many more of them than connections, and their questions
 * wait for each other, not for those of people.
 */
export const createFollowingPermissions = (options: PermissionsOptions): EntryPermissions => {
  const { clock, settings } = options;
  const { staleAfterMs: maxStayMs } = settings;
  const { maxWaitMs } = upstreamLimits(settings);
  const questions = new Questions({
    ...{ clock, maxWaitMs, isAllowed: askAsUser(options.staying) },
    ...{ max: questionsAtOnce.following, maxWaiting: maxFollowingWaiting },
  });
  return new EntryPermissions({
    ...{ ...options, maxConnections: maxFollowed, maxStayMs },
    ...{ entering: questions, staying: questions },
  });
};
