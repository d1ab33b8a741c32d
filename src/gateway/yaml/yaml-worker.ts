import { parentPort } from 'node:worker_threads';
import { readYAML } from './read-yaml.ts';

// A thread of its own reads one text and ends.
parentPort?.once('message', (text: string) => parentPort?.postMessage(readYAML(text)));
