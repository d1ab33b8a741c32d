import { readReports } from './read-reports.ts';
import { filesToRepeat } from './second-try.ts';

// Prints one file a line, and none when a lane has no report: then what it would have shown is not known.
const { reports, missing } = readReports(process.argv.slice(2));
for (const file of missing.length > 0 ? [] : filesToRepeat(reports)) console.log(file);
