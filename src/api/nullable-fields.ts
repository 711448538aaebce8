import type { OpenApiDocument } from './openapi-document.js';

type Schema = Record<string, unknown>;

/**
 * Declares in the OpenAPI document that null means absent for optional fields of JSON bodies in a POST, as in the
 * validation. In a PATCH null removes a field, which the field's own schema declares.
 */
export function declareNullableFields(document: OpenApiDocument): OpenApiDocument {
  const schemas = document.components?.schemas as Record<string, Schema> | undefined;

  function resolved(schema: Schema): Schema {
    const reference = schema['$ref'];
    if (typeof reference !== 'string') return schema;
    return schemas?.[reference.replace('#/components/schemas/', '')] ?? schema;
  }

  function allowNulls(schema: Schema): void {
    const {
      properties = {},
      required = [],
      anyOf = [],
    } = schema as {
      properties?: Record<string, Schema>;
      required?: string[];
      anyOf?: Schema[];
    };
    for (const [name, property] of Object.entries(properties)) {
      if (!required.includes(name)) properties[name] = orNull(property);
    }
    for (const variant of anyOf) if ('$ref' in variant) allowNulls(resolved(variant));
  }

  for (const { post } of Object.values(document.paths ?? {})) {
    const content = (post as { requestBody?: { content?: Record<string, { schema?: Schema }> } } | undefined)
      ?.requestBody?.content;
    const schema = content?.['application/json']?.schema;
    if (schema !== undefined) allowNulls(resolved(schema));
  }
  return document;
}

function orNull(schema: Schema): Schema {
  const { type, enum: values } = schema;
  if (Array.isArray(type) && type.includes('null')) return schema;
  if (type === undefined) return { anyOf: [schema, { type: 'null' }] };
  return {
    ...schema,
    type: [...(Array.isArray(type) ? (type as unknown[]) : [type]), 'null'],
    ...(Array.isArray(values) ? { enum: [...(values as unknown[]), null] } : {}),
  };
}
