import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import config from '../vitest.config.ts';
import { timed } from './test-order/timed.ts';

const root = path.join(import.meta.dirname, '..');

const projects = (config.test?.projects ?? []).flatMap((project) =>
  typeof project === 'object' && 'test' in project && project.test !== undefined ? [project.test] : [],
);
const { scripts } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));

/** Each wait in it may take a minute and a half, and a lease that is lost is taken again. */
const longWaits = ['test/outages/rights/time-without-policies.test.ts'];

/** The projects that a script of npm runs. */
const projectsOf = (script: string): readonly string[] =>
  [...scripts[script].matchAll(/--project (\S+)/g)].map(([, name]) => name);

const matches = (file: string, patterns: readonly string[]): boolean =>
  patterns.some((pattern) => path.matchesGlob(file, pattern));

it('every test file belongs to one project', () => {
  const files = globSync('{src,tools,test,lab,bench}/**/*.test.ts', { cwd: root });
  expect(files.length).toBeGreaterThan(200);
  const places = files.map((file) => ({
    file,
    projects: projects
      .filter(({ include = [], exclude = [] }) => matches(file, include) && !matches(file, exclude))
      .map(({ name }) => name),
  }));
  expect(places.filter((place) => place.projects.length !== 1)).toEqual([]);
});

it('every project is run by one of the two lanes, or by one that needs Chromium, or Python and Java', () => {
  const lanes = ['test', 'test:outages', 'test:page', 'test:languages'].flatMap(projectsOf);
  expect(lanes.sort()).toEqual(projects.map(({ name }) => name).sort());
});

it('a file that is timed is there', () => {
  expect(Object.keys(timed).filter((file) => !existsSync(path.join(root, file)))).toEqual([]);
});

it('a file of the second lane with a lease of a few seconds is timed', () => {
  const files = globSync('test/outages/**/*.test.ts', { cwd: root });
  const short = files.filter((file) =>
    /LEASE_DURATION: ['`][\d$][^'`]*m?s['`]/.test(readFileSync(path.join(root, file), 'utf8')),
  );
  expect(short.length).toBeGreaterThan(4);
  expect(short.filter((file) => !(file in timed) && !longWaits.includes(file))).toEqual([]);
});
