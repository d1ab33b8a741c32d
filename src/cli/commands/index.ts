import type { CommandSpec } from '../shared/context.ts';
import { check } from './check.ts';
import { completion } from './completion.ts';
import { credential } from './credential.ts';
import { exchange } from './exchange.ts';
import { explain } from './explain.ts';
import { keysDelete, keysDisable, keysRotate } from './keys-change.ts';
import { keysCreate } from './keys-create.ts';
import { keysList } from './keys-list.ts';
import { kubeconfig } from './kubeconfig.ts';
import { lock, unlock } from './lock.ts';
import { locks } from './locks.ts';
import { login } from './login.ts';
import { logout } from './logout.ts';
import { revoke } from './revoke.ts';
import { targets } from './targets.ts';
import { whoCan } from './who-can.ts';
import { whoami } from './whoami.ts';

/** In the order in which people meet them. */
export const commands: readonly CommandSpec[] = [
  login,
  logout,
  whoami,
  targets,
  kubeconfig,
  credential,
  exchange,
  keysList,
  keysCreate,
  keysRotate,
  keysDisable,
  keysDelete,
  revoke,
  explain,
  whoCan,
  lock,
  unlock,
  locks,
  check,
  completion(() => commands),
];
