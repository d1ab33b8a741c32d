import { readFileSync } from 'node:fs';
import { lockProblems } from './lock-problems.ts';

const read = (name: string) => JSON.parse(readFileSync(name, 'utf8'));

const problems = lockProblems(read('package.json'), read('package-lock.json'));
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
