import type { DesiredTargetStatus } from './desired-target-status.ts';
import type { Connection } from './target-connector.ts';

/** What is to be done about something that credentials point at. */
export type TargetStep =
  /** It is being deleted and holds nothing of ours any more. */
  | { readonly step: 'leave' }
  | { readonly step: 'addFinalizer' }
  /** Make it usable and say how that went. */
  | { readonly step: 'connect'; readonly connection: Connection }
  /** Take everything back that was made; nothing was where there is no connection. */
  | { readonly step: 'finalize'; readonly connection?: Connection }
  /** Nothing is to be done but to say so. */
  | { readonly step: 'settle'; readonly desired: DesiredTargetStatus };
