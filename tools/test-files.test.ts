import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import config from '../vitest.config.ts';

const root = path.join(import.meta.dirname, '..');

const projects = (config.test?.projects ?? []).flatMap((project) =>
  typeof project === 'object' && 'test' in project && project.test !== undefined ? [project.test] : [],
);
const { scripts } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));

/** The projects that a script of npm runs. */
const projectsOf = (script: string): readonly string[] =>
  [...scripts[script].matchAll(/--project (\S+)/g)].map(([, name]) => name);

it('every test file belongs to one project', () => {
  const files = globSync('{src,tools,test,lab,bench}/**/*.test.ts', { cwd: root });
  expect(files.length).toBeGreaterThan(200);
  const places = files.map((file) => ({
    file,
    projects: projects
      .filter(({ include = [] }) => include.some((pattern) => path.matchesGlob(file, pattern)))
      .map(({ name }) => name),
  }));
  expect(places.filter((place) => place.projects.length !== 1)).toEqual([]);
});

it('every project is run by one of the two lanes', () => {
  const lanes = [...projectsOf('test'), ...projectsOf('test:outages')];
  expect(lanes.sort()).toEqual(projects.map(({ name }) => name).sort());
});
