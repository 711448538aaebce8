import { CallResponse, OutboundCallQuery, OutboundCallRequest } from '../../src/calls/placing/contract.js';
import { COMPLETION_EXAMPLE, CompletionPayload } from '../../src/webhooks/completion.js';
import { ErrorObject, ERRORS } from '../../src/platform/http/contract/errors.js';
import { InboundCallForm } from '../../src/telephony/twilio/forms.js';
import { scanJson } from '../../src/platform/http/contract/json-scan.js';
import { openApiDocument } from '../../src/api/openapi.js';
import { errorCodesOf, type Route } from '../../src/platform/http/contract/route.js';
import { routes } from '../../src/api/routes.js';

interface Media {
  schema?: object;
  examples?: Record<string, { value: unknown }>;
}
interface Operation {
  operationId: string;
  summary?: string;
  security: Record<string, string[]>[];
  parameters?: { name: string; in: string; required: boolean; schema: object }[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, { description: string; content?: Record<string, Media>; headers?: object }>;
}

const document = openApiDocument('https://calls.test');
const paths = document.paths as Record<string, Record<string, Operation>>;
const operations = Object.entries(paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
);

describe('the error table', () => {
  it.each([
    ['MISSING_PARAMS', 400],
    ['UNAUTHORIZED', 401],
    ['INSUFFICIENT_BALANCE', 402],
    ['AGENT_NOT_FOUND', 404],
    ['CALL_NOT_FOUND', 404],
    ['INTERNAL_ERROR', 500],
    ['HTTPS_REQUIRED', 403],
    ['DESTINATION_NOT_ALLOWED', 403],
    ['SPEND_LIMIT_EXCEEDED', 403],
    ['NOT_FOUND', 404],
    ['METHOD_NOT_ALLOWED', 405],
    ['IDEMPOTENCY_CONFLICT', 409],
    ['PAYLOAD_TOO_LARGE', 413],
    ['UNSUPPORTED_MEDIA_TYPE', 415],
    ['RATE_LIMIT_EXCEEDED', 429],
    ['CONCURRENCY_LIMIT_EXCEEDED', 429],
    ['SERVICE_UNAVAILABLE', 503],
  ] as const)('%s is %i', (code, status) => {
    expect(ERRORS[code].status).toBe(status);
  });
});

describe('the OpenAPI document', () => {
  it('is OpenAPI 3.1.0 of API version 1.0.0', () => {
    expect(document).toMatchObject({
      openapi: '3.1.0',
      info: { title: 'Callwright', version: '1.0.0' },
      servers: [{ url: 'https://calls.test' }],
    });
  });

  it('contains every declared route and no other', () => {
    const declared = Object.entries(routes).map(([id, route]) => `${id} ${route.method} ${route.path}`);
    const documented = operations.map(({ path, method, operation }) => `${operation.operationId} ${method} ${path}`);
    expect(documented.toSorted()).toEqual(declared.toSorted());
  });

  it('has no version segment in a path', () => {
    for (const path of Object.keys(paths)) expect(path).not.toMatch(/\/v\d/);
  });

  it.each(operations.map(({ path, method, operation }) => [`${method} ${path}`, operation, path] as const))(
    'describes %s with an id, a summary, its path parameters and examples',
    (_name, operation, path) => {
      expect(operation.operationId).toMatch(/^[a-z][A-Za-z]+$/);
      expect(operation.summary).toMatch(/\S/);
      const inPath = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path');
      expect(inPath.map(({ name }) => `{${name}}`)).toEqual(path.match(/\{\w+\}/g) ?? []);
      expect(inPath.every(({ required }) => required)).toBe(true);
      const bodies = [operation.requestBody, ...Object.values(operation.responses)];
      for (const { content = {} } of bodies.filter((body) => body !== undefined)) {
        for (const media of Object.values(content)) {
          expect(media.schema).toBeDefined();
          expect(Object.keys(media.examples ?? {}).length).toBeGreaterThan(0);
        }
      }
    },
  );

  it('lists every error of a route with its status and an example for each code', () => {
    for (const { operation } of operations) {
      const route: Route = routes[operation.operationId as keyof typeof routes];
      const expected = new Set(errorCodesOf(route).map((code) => String(ERRORS[code].status)));
      expect(new Set(Object.keys(operation.responses))).toEqual(
        new Set(['200', ...(route.success.mayBePartial ? ['206'] : []), '431', ...expected]),
      );
      const examples = Object.entries(operation.responses)
        .filter(([status]) => !['200', '206', '431'].includes(status))
        .flatMap(([, response]) => Object.entries(response.content?.['application/json']?.examples ?? {}));
      expect(examples.map(([code]) => code).toSorted()).toEqual(errorCodesOf(route).toSorted());
      for (const [code, { value }] of examples) expect(ErrorObject.parse(value).error_code).toBe(code);
    }
  });

  it('states the authentication of each operation', () => {
    expect(Object.keys(document.components?.securitySchemes ?? {})).toEqual([
      'apiKey',
      'apiKeyAsPassword',
      'portalSession',
      'carrierSignature',
    ]);
    const of = (id: string) => operations.find(({ operation }) => operation.operationId === id)?.operation.security;
    expect(of('placeCall')).toEqual([{ apiKey: [] }]);
    expect(of('receiveCall')).toEqual([{ apiKey: [] }, { apiKeyAsPassword: [] }, { carrierSignature: [] }]);
    expect(of('checkLiveness')).toEqual([]);
  });

  it('has no broken references', () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)];
    expect(references.length).toBeGreaterThan(0);
    for (const [, name = ''] of references) expect(document.components?.schemas).toHaveProperty(name);
  });

  it('describes the completion webhook with all its fields', () => {
    const [webhook] = Object.values(document.webhooks ?? {}) as { post: Operation }[];
    expect(webhook?.post.requestBody?.content['application/json']?.schema).toEqual({
      $ref: '#/components/schemas/CompletionPayload',
    });
    const schema = document.components?.schemas?.['CompletionPayload'] as { required: string[]; properties: object };
    expect(schema.required).toEqual(
      expect.arrayContaining([
        'call_id',
        'status',
        'call_direction',
        'from_phone_number',
        'to_phone_number',
        'agent_id',
        'created_at',
        'updated_at',
        'start_time',
        'end_time',
        'summary',
        'input_parameters',
        'external_call_id',
      ]),
    );
    for (const optional of ['agent_name', 'recording_url', 'transcription', 'output_parameters']) {
      expect(schema.properties).toHaveProperty(optional);
      expect(schema.required).not.toContain(optional);
    }
    expect(CompletionPayload.parse(COMPLETION_EXAMPLE)).toEqual(COMPLETION_EXAMPLE);
  });
});

describe('examples of requests and responses', () => {
  it('pass the validation of real requests and responses', () => {
    const { agent, instruction } = routes.placeCall.body.examples;
    expect(OutboundCallRequest.parse(agent)).toEqual(agent);
    expect(OutboundCallRequest.parse(instruction)).toEqual(instruction);
    expect(OutboundCallQuery.parse(agent)).toEqual(agent);
    const { forwarded } = routes.receiveCall.body.examples;
    expect(InboundCallForm.parse(forwarded)).toEqual(forwarded);
    for (const example of Object.values(routes.placeCall.success.examples)) {
      expect(CallResponse.parse(example)).toEqual(example);
    }
  });
});

describe('the JSON scan before parsing', () => {
  it.each([
    ['{}', 1],
    ['[[[]]]', 3],
    ['{"a":"[[[["}', 1],
    ['{"a":"\\"[["}', 1],
    ['[1,[2],{"a":[]}]', 3],
    ['"[["', 0],
  ])('measures the nesting of %s: %i', (json, depth) => {
    expect(scanJson(json).depth).toBe(depth);
  });

  it.each([
    ['{"a":1,"b":2}', []],
    ['{"a":1,"a":2}', ['a']],
    ['{"a":1, "\\u0061" :2}', ['a']],
    ['{"a":"a","b":"a"}', []],
    ['{"a":{"b":1,"b":2}}', []],
    ['{"a":["a","a"]}', []],
  ])('finds the repeated keys of %s: %j', (json, repeated) => {
    expect([...scanJson(json).repeatedKeys]).toEqual(repeated);
  });

  it.each([
    ['{}', 1, { members: 1, isList: false }],
    ['{"a":1,"b":[1,2,3],"c":{"d":",,,,"}}', 7, { members: 3, isList: true, field: 'b' }],
    ['{"a":1,"b":[1,2],"c":3}', 5, { members: 3, isList: false }],
    ['{"a":1,"b":[[],[1,2,3]]}', 8, { members: 3, isList: true, field: 'b' }],
    ['{"a":{"x":1,"y":2,"z":3}}', 4, { members: 3, isList: false, field: 'a' }],
    ['[1,2', 0, { members: 0, isList: false }],
  ])('counts the members of %s: %i', (json, members, largest) => {
    expect(scanJson(json)).toMatchObject({ members, largest });
  });
});
