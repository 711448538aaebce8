/** A JSON schema, or a schema of OpenAPI 2 or 3, which has a few keywords more. */
export interface Schema {
  $ref?: string;
  type?: string | readonly string[];
  format?: string;
  nullable?: boolean;
  enum?: readonly unknown[];
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  items?: Schema;
  oneOf?: readonly Schema[];
  required?: readonly string[];
  'x-kubernetes-preserve-unknown-fields'?: boolean;
  'x-kubernetes-group-version-kind'?: readonly GroupVersionKind[];
  [keyword: string]: unknown;
}

export interface GroupVersionKind {
  group: string;
  version: string;
  kind: string;
}

type Definitions = Readonly<Record<string, Schema>>;

const REFERENCE = '#/definitions/';
const META = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';
/** Kinds of values that OpenAPI calls strings, and that may be numbers, too. */
const NUMBER_OR_TEXT = /\.(?:Quantity|IntOrString)$/;

/** Returns the name of the file in which kubeconform looks for the schema of a kind. */
export function schemaFile({ group, version, kind }: GroupVersionKind): string {
  const [first = ''] = group.split('.');
  return `${[kind, ...(first === '' ? [] : [first]), version].join('-').toLowerCase()}.json`;
}

/** Returns strict schemas of the kinds that Kubernetes' OpenAPI document defines, by their files. */
export function kubernetesSchemas(definitions: Definitions): Map<string, Schema> {
  const files = new Map<string, Schema>();
  for (const [name, definition] of Object.entries(definitions)) {
    // Options of requests and lists of watches belong to many groups. They are in no manifest.
    const [identity, ...others] = definition['x-kubernetes-group-version-kind'] ?? [];
    if (identity === undefined || others.length > 0) continue;
    files.set(schemaFile(identity), withDefinitions(typed(strict(definition, name), identity), definitions));
  }
  return files;
}

/** Returns the strict schema of each version of a custom resource definition, by its file. */
export function customSchemas(crd: CustomResourceDefinition, definitions: Definitions): Map<string, Schema> {
  const { group, names, versions } = crd.spec;
  return new Map(
    versions.map(({ name: version, schema }) => {
      const identity = { group, version, kind: names.kind };
      const root = schema.openAPIV3Schema;
      const properties = { ...root.properties, metadata: { $ref: `${REFERENCE}${META}` } };
      const own = typed(strict({ ...root, properties }, ''), identity);
      return [schemaFile(identity), withDefinitions(own, definitions)];
    }),
  );
}

export interface CustomResourceDefinition {
  kind: string;
  spec: {
    group: string;
    names: { kind: string };
    versions: readonly { name: string; schema: { openAPIV3Schema: Schema } }[];
  };
}

/** Pins the version and the kind of a schema. */
function typed(schema: Schema, { group, version, kind }: GroupVersionKind): Schema {
  const apiVersion = group === '' ? version : `${group}/${version}`;
  const properties = { ...schema.properties, apiVersion: { enum: [apiVersion] }, kind: { enum: [kind] } };
  return { ...schema, properties, required: [...(schema.required ?? []), 'apiVersion', 'kind'] };
}

/** Adds the definitions to which a schema refers, directly or through others. */
function withDefinitions(schema: Schema, definitions: Definitions): Schema {
  const found: Record<string, Schema> = {};
  const pending = referencesIn(schema);
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    const definition = definitions[name];
    if (definition === undefined) throw new Error(`The OpenAPI document does not define ${name}.`);
    if (name in found) continue;
    const own = strict(definition, name);
    found[name] = own;
    pending.push(...referencesIn(own));
  }
  return { ...schema, definitions: found };
}

function referencesIn(schema: Schema): string[] {
  return [...JSON.stringify(schema).matchAll(/"\$ref":"#\/definitions\/([^"]+)"/g)].map(([, name = '']) => name);
}

/**
 * Returns a schema that rejects fields it does not describe, as kubeconform's `-strict` and Kubernetes' field validation
 * require, without the keywords of OpenAPI.
 */
function strict(schema: Schema, name: string): Schema {
  if (NUMBER_OR_TEXT.test(name) || schema.format === 'int-or-string') return { type: ['integer', 'number', 'string'] };
  const { nullable, properties, items, additionalProperties, ...rest } = schema;
  const within = (part: Schema) => strict(part, '');
  const isOpen = additionalProperties !== undefined || schema['x-kubernetes-preserve-unknown-fields'] === true;
  const inner: Schema = {
    ...rest,
    ...(properties === undefined
      ? {}
      : { properties: Object.fromEntries(Object.entries(properties).map(([key, part]) => [key, within(part)])) }),
    ...(items === undefined ? {} : { items: within(items) }),
    ...(typeof additionalProperties === 'object' ? { additionalProperties: within(additionalProperties) } : {}),
    ...(properties === undefined || isOpen ? {} : { additionalProperties: false }),
  };
  return nullable === true ? { oneOf: [{ type: 'null' }, inner] } : inner;
}
