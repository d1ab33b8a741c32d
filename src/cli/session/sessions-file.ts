import path from 'node:path';
import type { Context } from '../shared/context.ts';
import { configFolder } from './places.ts';

export const sessionsFile = (context: Pick<Context, 'env' | 'platform'>): string =>
  path.join(configFolder(context), 'sessions.json');
