import path from 'node:path';
import type { Context } from '../shared/context.ts';

type Surroundings = Pick<Context, 'env' | 'platform'>;

/** Where a command keeps what it must remember. */
export function configFolder({ env, platform }: Surroundings): string {
  return folder(env['XDG_CONFIG_HOME'], platform === 'win32' ? env['APPDATA'] : undefined, {
    home: homeOf(env),
    name: '.config',
  });
}

/** Where it keeps what it could make again. */
export function cacheFolder({ env, platform }: Surroundings): string {
  return folder(env['XDG_CACHE_HOME'], platform === 'win32' ? env['LOCALAPPDATA'] : undefined, {
    home: homeOf(env),
    name: '.cache',
  });
}

interface Home {
  readonly home: string;
  readonly name: string;
}

/** A relative path in these variables counts for nothing, says their specification. */
function folder(given: string | undefined, ofWindows: string | undefined, { home, name }: Home): string {
  const chosen = [given, ofWindows].find((place) => place !== undefined && path.isAbsolute(place));
  return path.join(chosen ?? path.join(home, name), 'latchkey');
}

export const homeOf = (env: Surroundings['env']): string => env['HOME'] || env['USERPROFILE'] || '.';

export const sessionsFile = (context: Surroundings): string =>
  path.join(configFolder(context), 'sessions.json');
