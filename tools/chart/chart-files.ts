import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { stringify } from 'yaml';
import { version } from '../../src/version.ts';
import { type KubeManifest, renderKustomization } from '../install/kustomization.ts';
import { valuesSchema, valuesYaml } from './render-values.ts';
import { defaultValues, withDefaults } from './reuse-values.ts';
import { documents, Slots, when } from './template.ts';
import type { ChartValue } from './values.ts';

const root = path.resolve(import.meta.dirname, '../..');
const header = '# Written by `npm run generate` from config/ and crds/. Do not edit.\n';

/** The objects of a folder of `config/`. */
export const config = (name: string): readonly KubeManifest[] =>
  renderKustomization(path.join(root, 'config', name));

interface Chart {
  readonly name: string;
  readonly description: string;
  readonly values: readonly ChartValue[];
  /** The file in which they are defined, for the note in values.yaml. */
  readonly valuesSource: string;
  /** Parts of the chart that `config/` has nothing of: names, and what Helm prints in the end. */
  readonly ownTemplates: string;
  readonly templates: readonly (readonly [file: string, text: string])[];
}

/** Every file of a chart by its path in there. */
export function filesOf({
  ownTemplates,
  values,
  valuesSource,
  templates,
  ...about
}: Chart): ReadonlyMap<string, string> {
  const own = readdirSync(ownTemplates).map((name): [string, string] => [
    `templates/${name}`,
    readFileSync(path.join(ownTemplates, name), 'utf8'),
  ]);
  const { name } = about;
  const rendered = [...templates, ...own].map(([file, text]): [string, string] => [
    file,
    file.startsWith('templates/_') ? text : withDefaults(name, text),
  ]);
  return new Map([
    ['Chart.yaml', chartYaml(about)],
    ['values.yaml', valuesYaml(values, valuesSource)],
    ['values.schema.json', valuesSchema(values)],
    ['templates/_defaults.tpl', defaultValues(name, values)],
    ...rendered,
  ]);
}

function chartYaml({ name, description }: Pick<Chart, 'name' | 'description'>): string {
  const { license } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  const chart = {
    ...{ apiVersion: 'v2', name, type: 'application', description },
    ...{ version, appVersion: version },
    annotations: { 'artifacthub.io/license': license },
  };
  return `${header.replace('config/ and crds/', 'package.json')}${stringify(chart, { lineWidth: 0 })}`;
}

interface Rendering {
  readonly placeValues: (object: KubeManifest, slots: Slots) => void;
  readonly fileFor: (object: KubeManifest) => string;
  /** Of objects that only some installations have. */
  readonly conditionFor: (object: KubeManifest) => string | undefined;
}

/** Objects as templates, in files. */
export function templatesOf(
  objects: readonly KubeManifest[],
  { placeValues, fileFor, conditionFor }: Rendering,
): readonly [string, string][] {
  const slots = new Slots();
  return [...Map.groupBy(objects, fileFor)].map(([file, some]) => {
    const texts = some.map((object) => {
      const condition = conditionFor(object);
      placeValues(object, slots);
      const text = slots.render(object);
      return condition === undefined ? text : when(condition, text);
    });
    return [`templates/${file}.yaml`, header + documents(texts)];
  });
}

/** Of a Deployment, as `config/` has them. */
export function defaultsOf(deployment: KubeManifest) {
  const { replicas, template } = deployment['spec'];
  const [{ image, resources, env }] = template.spec.containers;
  return { image: image.slice(0, image.lastIndexOf(':')), replicas, resources, nodeOptions: env[0].value };
}
