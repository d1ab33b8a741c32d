import { describe, expect, it } from 'vitest';
import { version } from '../../src/version.ts';
import { chartFiles } from './chart.ts';

const files = chartFiles();
const text = (name: string): string => files.get(name) ?? '';
const documentsOf = (name: string): readonly string[] =>
  text(`templates/${name}.yaml`).split('\n---\n').slice(1);

describe('the chart', () => {
  it('has the version of this tree', () => {
    expect(text('Chart.yaml')).toContain(`\nversion: ${version}\nappVersion: ${version}\n`);
  });

  it('refuses a cluster older than Kubernetes 1.36, and says what to do there', () => {
    expect(text('templates/requirements.yaml')).toMatch(
      /if not \(semverCompare ">=1\.36\.0-0" \$kubernetes\).*fail .*this one is %s: upgrade its control plane, or /s,
    );
    // Helm would stop at this field first, and say a range of versions only.
    expect(text('Chart.yaml')).not.toContain('kubeVersion');
  });

  it.each(['namespaces', 'definitions', 'policies', 'site-policy'])(
    'leaves all %s behind when it is uninstalled',
    (name) => {
      const found = documentsOf(name);
      expect(found.length).toBeGreaterThan(0);
      for (const document of found) expect(document).toContain('\n    helm.sh/resource-policy: keep\n');
    },
  );

  it('takes programs and rights away when it is uninstalled', () => {
    for (const name of ['operator', 'gateway', 'rights', 'settings', 'monitoring'])
      expect(text(`templates/${name}.yaml`)).not.toContain('resource-policy');
  });

  it('has no hook: Helm deletes what a hook made before it makes it again, so policies would be away for a moment', () => {
    expect([...files.values()].filter((content) => content.includes('helm.sh/hook'))).toEqual([]);
  });

  it('has nothing in crds/, which Helm never upgrades', () => {
    expect([...files.keys()].filter((name) => name.startsWith('crds/'))).toEqual([]);
  });

  it('leaves no place of a value unwritten', () => {
    expect([...files.values()].filter((content) => /HELM\d+SLOT/.test(content))).toEqual([]);
  });
});
