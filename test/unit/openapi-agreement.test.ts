import { Validator, type Schema } from '@cfworker/json-schema';
import fc from 'fast-check';
import type { z } from 'zod';
import { openApiDocument } from '../../src/api/openapi.js';
import { routes } from '../../src/api/routes.js';
import type { Route } from '../../src/platform/http/contract/route.js';
import { checkAgentFields } from '../../src/agents/agent-fields.js';
import { checkedName } from '../../src/identity/accounts/accounts.js';

interface PropertySchema extends Schema {
  properties?: Record<string, PropertySchema>;
}
interface Content {
  content?: Record<string, { schema: PropertySchema; examples?: Record<string, { value: unknown }> }>;
}
interface Operation {
  operationId: string;
  requestBody?: Content;
  responses: Record<string, Content>;
}

const document = openApiDocument('https://calls.test');
const operations = Object.values(document.paths as Record<string, Record<string, Operation>>).flatMap((item) =>
  Object.values(item),
);
const validatorOf = (schema: PropertySchema) =>
  new Validator({ components: document.components, allOf: [schema] } as unknown as Schema, '2020-12', false);
const componentOf = (schema: PropertySchema): PropertySchema => {
  const name = /^#\/components\/schemas\/(\w+)$/.exec(String(schema.$ref))?.[1] ?? '';
  return (document.components?.schemas?.[name] as PropertySchema | undefined) ?? schema;
};

/** The JSON request bodies of the management API and of the portal. */
const ownBodies = operations.flatMap(({ operationId, requestBody }) => {
  const route: Route = routes[operationId as keyof typeof routes];
  const schema = requestBody?.content?.['application/json']?.schema;
  if (schema === undefined || !['keyOrSession', 'session', 'origin'].includes(route.auth)) return [];
  return [{ operationId, route, schema, validation: route.body?.schema as z.ZodObject }];
});

describe('the examples in the OpenAPI document', () => {
  it.each(operations.map((operation) => [operation.operationId, operation] as const))(
    'match their schemas in an independent JSON Schema validator: %s',
    (_id, { requestBody, responses }) => {
      for (const { content = {} } of [requestBody ?? {}, ...Object.values(responses)]) {
        for (const { schema, examples = {} } of Object.values(content)) {
          const validator = validatorOf(schema);
          for (const { value } of Object.values(examples)) {
            expect({ value, errors: validator.validate(value).errors }).toEqual({ value, errors: [] });
          }
        }
      }
    },
  );
});

describe('the request bodies in the OpenAPI document', () => {
  it.each(ownBodies.map((body) => [body.operationId, body] as const))(
    'allow no unknown fields, null for an absent field of a POST, and no empty PATCH: %s',
    (_id, { route, schema }) => {
      const { properties = {}, required = [], ...rest } = componentOf(schema);
      expect(rest.additionalProperties).toBe(false);
      expect(rest.minProperties).toBe(route.method === 'patch' && required.length === 0 ? 1 : undefined);
      if (route.method !== 'post') return;
      for (const name of Object.keys(properties).filter((each) => !required.includes(each))) {
        expect({ name, ...validatorOf(properties[name] ?? {}).validate(null) }).toMatchObject({ name, valid: true });
      }
      for (const name of required) {
        expect({ name, ...validatorOf(properties[name] ?? {}).validate(null) }).toMatchObject({ name, valid: false });
      }
    },
  );

  const texts = fc.string({ unit: 'binary', maxLength: 140 });
  const fields = ownBodies.flatMap(({ operationId, schema, validation }) =>
    Object.entries(componentOf(schema).properties ?? {})
      .filter(
        ([, property]) =>
          [property.type].flat().includes('string') && property.format === undefined && property.enum === undefined,
      )
      .map(([name, property]) => [`${operationId} ${name}`, property, validation.shape[name] as z.ZodType] as const),
  );

  it.each(fields)('accept exactly the strings that the service accepts: %s', (_name, property, field) => {
    const validator = validatorOf(property);
    fc.assert(
      fc.property(texts, (value) => {
        expect({ value, taken: field.safeParse(value).success }).toEqual({
          value,
          taken: validator.validate(value).valid,
        });
      }),
      {
        seed: 6,
        numRuns: 100,
        examples: ['', ' ', '\0', '\uFEFF', 'a', ' a ', '𝒜'.repeat(100), '𝒜'.repeat(101)].map((text) => [text]),
      },
    );
  });

  it('count characters as the service does: a surrogate pair is one character', () => {
    const name = '𝒜'.repeat(100);
    expect(checkedName(name)).toBe(name);
    expect(() => checkedName(`${name}a`)).toThrow('1 to 100 characters');
    const agent = {
      instruction: 'Ask.',
      voice: 'amber',
      language: 'en-US',
      maxDurationSeconds: 60,
      ringTimeoutSeconds: 30,
    };
    expect(checkAgentFields({ ...agent, name })).toMatchObject({ name });
    expect(() => checkAgentFields({ ...agent, name: `${name}a` })).toThrow('1 to 100 characters');
  });

  it('require an agent or an instruction for a call, and allow null for the other', () => {
    const schema = operations.find(({ operationId }) => operationId === 'placeCall')?.requestBody?.content?.[
      'application/json'
    ]?.schema;
    const validator = validatorOf(schema ?? {});
    const call = { to_phone_number: '+12025550100' };
    expect(validator.validate({ ...call, instruction: 'Ask.' }).valid).toBe(true);
    expect(validator.validate({ ...call, agent_id: null, instruction: 'Ask.', output_parameters: null }).valid).toBe(
      true,
    );
    expect(validator.validate({ ...call, instruction: ' ', agent_id: '' }).valid).toBe(false);
    expect(validator.validate({ ...call }).valid).toBe(false);
    // If the request has a call_id, other fields are ignored.
    expect(validator.validate({ call_id: 'call_1', instruction: 7 }).valid).toBe(true);
  });

  it('name the session cookie as this service does', () => {
    const cookie = (...args: Parameters<typeof openApiDocument>) =>
      openApiDocument(...args).components?.securitySchemes?.['portalSession'];
    expect(cookie('https://calls.test')).toMatchObject({ in: 'cookie', name: '__Host-sid' });
    expect(cookie('http://127.0.0.1:8080', 'sid')).toMatchObject({ in: 'cookie', name: 'sid' });
  });
});
