import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { version } from '../../../src/version.ts';
import { allEndpointValues, endpointChartFiles } from './chart.ts';

const files = endpointChartFiles();
const text = (name: string): string => files.get(name) ?? '';

describe('the chart of direct endpoints', () => {
  it('has the version of this tree', () => {
    expect(text('Chart.yaml')).toContain(`\nversion: ${version}\nappVersion: ${version}\n`);
  });

  it('leaves no place of a value unwritten, and has no hook', () => {
    const found = [...files.values()].filter((content) => /HELM\d+SLOT|helm\.sh\/hook/.test(content));
    expect(found).toEqual([]);
  });

  it('shares no name of a template with the chart of the platform, which may be a part of the same one', () => {
    const names = [...text('templates/_helpers.tpl').matchAll(/define "([^"]+)"/g)].map(([, name]) => name);
    expect(names.length).toBeGreaterThan(1);
    for (const name of names) expect(name).toMatch(/^latchkey-direct-endpoint\./);
    for (const content of files.values()) expect(content).not.toContain('include "latchkey.');
  });

  it('leaves its namespace behind when it is uninstalled, and takes all else away', () => {
    const keep = '\n    helm.sh/resource-policy: keep\n';
    const kept = [...files].filter(([, content]) => content.includes(keep)).map(([name]) => name);
    expect(kept).toEqual(['templates/namespace.yaml']);
  });

  it('names the file in which its values are, and nothing that it does not have', () => {
    expect(text('values.yaml')).toMatch(/^# Written by .* from tools\/chart\/direct-endpoint\/values\.ts\. /);
    expect(text('values.yaml')).not.toMatch(/polic(?:y|ies),? kinds/i);
  });

  it('takes no key as a value: it would stay in the Secrets of Helm', () => {
    const paths = allEndpointValues().map(({ path }) => path);
    expect(paths.filter((path) => /key$/i.test(path))).toEqual([]);
  });

  it('has the defaults of config/direct-endpoint', () => {
    expect(parse(text('values.yaml'))).toMatchObject({
      ...{ replicas: 2, image: { repository: 'latchkey' } },
      agent: { secretName: 'latchkey-direct-endpoint-agent' },
      certificate: { secretName: 'latchkey-direct-endpoint-tls' },
    });
  });
});
