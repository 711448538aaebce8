import { openApiDocument } from '../../src/api/openapi.js';

/** Members of OpenAPI that only describe. Names of fields may be the same, so they count only outside of these maps. */
const TEXTS = new Set(['description', 'summary', 'title', 'example', 'examples', 'externalDocs']);
const NAMED = new Set(['properties', 'patternProperties', 'schemas', 'parameters', 'responses', 'headers']);

/** Returns the interface of the API as OpenAPI, without texts. */
export function currentInterface(): unknown {
  return withoutTexts(JSON.parse(JSON.stringify(openApiDocument('https://calls.example.com'))), false);
}

function withoutTexts(value: unknown, isMapOfNames: boolean): unknown {
  if (Array.isArray(value)) return value.map((each) => withoutTexts(each, false));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => isMapOfNames || !TEXTS.has(name))
      .map(([name, member]) => [name, withoutTexts(member, !isMapOfNames && NAMED.has(name))]),
  );
}
