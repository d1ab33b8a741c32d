/** A node of a structural schema, as it stands in `crds/*.yaml`. */
export type Schema = Record<string, unknown>;

/** Types that several kinds use; each stands in one generated file and is imported by the others. */
const shared: Readonly<Record<string, string>> = {
  conditions: 'Condition[]',
  metadata: 'ObjectMeta',
  scope: 'Scope | null',
  rules: 'ScopeRule[]',
};

const kept = ['type', 'description', 'enum', 'required'];

/**
 * Turns the schema of a kind into JSON Schema that json-schema-to-typescript renders as one named interface for each object.
 * Validation, defaults and Kubernetes' own keywords are left out: they say nothing about the shape.
 */
export function kindSchema(kind: string, root: Schema): Schema {
  const properties = propertiesOf(root);
  const fields = ['apiVersion', 'kind', 'metadata', 'spec'];
  return named(kind, {
    ...objectSchema(kind, { ...root, required: fields }),
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, schema]) => [name, propertySchema(kind, name, schema)]),
    ),
  });
}

/** Renders an object on its own, for a type that kinds share. Within it nothing is imported but what `shared` names. */
export function objectSchema(name: string, schema: Schema): Schema {
  const properties = Object.entries(propertiesOf(schema));
  return named(name, {
    ...pick(schema),
    additionalProperties: additionalProperties(name, schema),
    properties: Object.fromEntries(
      properties.map(([property, value]) => [property, propertySchema(name, property, value)]),
    ),
  });
}

/** Reads what an object may hold besides its fields: nothing, anything, or values of one type. */
function additionalProperties(name: string, schema: Schema): boolean | Schema {
  const values = schema['additionalProperties'];
  if (typeof values === 'object' && values !== null) return valueSchema(`${name}Value`, values as Schema);
  return schema['x-kubernetes-preserve-unknown-fields'] === true;
}

function propertySchema(owner: string, property: string, schema: Schema): Schema {
  const isText = schema['type'] === 'string';
  const type = isText ? undefined : shared[property];
  const comment = commentOf(schema);
  if (type !== undefined) return { ...comment, tsType: type };
  if (schema['x-kubernetes-int-or-string'] === true) return { ...comment, tsType: 'number | string' };
  return { ...valueSchema(owner + capitalised(property), schema), ...comment };
}

function valueSchema(name: string, schema: Schema): Schema {
  if (schema['type'] === 'object') return objectSchema(name, schema);
  if (schema['type'] !== 'array') return pick(schema);
  return { ...pick(schema), items: valueSchema(singular(name), schema['items'] as Schema) };
}

function commentOf(schema: Schema): Schema {
  const description = schema['description'];
  if (typeof description !== 'string') return {};
  return description.includes('Deprecated: ') ? { deprecated: true, description } : { description };
}

function pick(schema: Schema): Schema {
  const entries = Object.entries(schema).filter(([keyword]) => kept.includes(keyword));
  return Object.fromEntries(entries);
}

const named = (title: string, schema: Schema): Schema => ({ ...schema, title });
const propertiesOf = (schema: Schema): Record<string, Schema> =>
  (schema['properties'] ?? {}) as Record<string, Schema>;
const capitalised = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);
const singular = (word: string): string => word.replace(/ies$/, 'y').replace(/s$/, '');
