import { OpenAPIRegistry, OpenApiGeneratorV31, type RouteConfig } from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';
import type { ErrorCode, RequestFault } from '../kernel/errors.js';
import { COMPLETION_EXAMPLE, CompletionPayload } from '../webhooks/completion.js';
import { errorDocsUrl, ErrorObject, ERRORS, errorObject } from '../platform/http/contract/errors.js';
import { modeParameter } from '../platform/http/contract/fields.js';
import { declareNullableFields } from './nullable-fields.js';
import { errorCodesOf, type Route, type RouteAuth } from '../platform/http/contract/route.js';
import type { OpenApiDocument } from './openapi-document.js';
import { carrierSecurityOf, carrierSecuritySchemes } from '../telephony/contract.js';
import { routes } from './routes.js';

const securitySchemes = (sessionCookie: string) =>
  ({
    apiKey: {
      type: 'http',
      scheme: 'bearer',
      description: 'Authorization: Bearer sk_live_… or sk_test_…',
    },
    apiKeyAsPassword: {
      type: 'http',
      scheme: 'basic',
      description:
        'The API key as password with any user name, for telephony providers that cannot send a Bearer token.',
    },
    portalSession: {
      type: 'apiKey',
      in: 'cookie',
      name: sessionCookie,
      description:
        'A member’s login session of the portal. Requests that change something must come from a page of the same origin and be application/json.',
    },
    ...carrierSecuritySchemes,
  }) as const;

/** The security schemes of each kind of authentication, without the scheme of the carrier that calls the route. */
const SECURITY: Readonly<Record<RouteAuth, readonly string[]>> = {
  none: [],
  key: ['apiKey'],
  keyOrSession: ['apiKey', 'portalSession'],
  session: ['portalSession'],
  origin: [],
  keyOrCarrier: ['apiKey', 'apiKeyAsPassword'],
  carrier: [],
};

/**
 * Builds the OpenAPI 3.1 document of the API from the route table.
 * @param sessionCookie name of the session cookie, which differs without TLS
 */
export function openApiDocument(publicBaseUrl: string, sessionCookie = '__Host-sid'): OpenApiDocument {
  const registry = new OpenAPIRegistry();
  for (const [name, scheme] of Object.entries(securitySchemes(sessionCookie))) {
    registry.registerComponent('securitySchemes', name, scheme);
  }
  for (const [operationId, route] of Object.entries(routes)) registry.registerPath(operation(operationId, route));
  registry.registerWebhook(completionWebhook());
  const document = new OpenApiGeneratorV31(registry.definitions).generateDocument({
    openapi: '3.1.0',
    info: {
      title: 'Callwright',
      version: '1.0.0',
      description:
        'Places and receives phone calls that an AI agent conducts. The version is that of the interface; releases of the service have their own (see CHANGELOG.md).',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: publicBaseUrl }],
    tags: [...new Set(Object.values(routes).map((route) => route.tag))].map((name) => ({ name })),
  });
  return declareNullableFields(document);
}

function operation(operationId: string, route: Route): RouteConfig {
  return {
    operationId,
    method: route.method,
    path: route.path,
    tags: [route.tag],
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    security: [...SECURITY[route.auth], ...carrierSecurityOf(route)].map((scheme) => ({ [scheme]: [] })),
    request: {
      ...(route.params ? { params: route.params } : {}),
      ...queryOf(route),
      ...(route.headers ? { headers: route.headers } : {}),
      ...(route.body
        ? {
            body: {
              required: true,
              content: {
                [route.body.contentType]: { schema: route.body.schema, examples: examples(route.body.examples) },
              },
            },
          }
        : {}),
    },
    responses: {
      200: {
        description: route.success.description,
        headers: headers({
          'X-Request-Id': 'Identifies this request in the logs of the service.',
          ...route.success.headers,
        }),
        content: Object.fromEntries(
          Object.entries({ [route.success.contentType]: route.success, ...route.success.alternatives }).map(
            ([type, form]) => [type, { schema: form.schema, examples: examples(form.examples) }],
          ),
        ),
      },
      ...(route.success.mayBePartial ? { 206: partOf(route.success) } : {}),
      ...errorResponses(errorCodesOf(route)),
      431: HEADERS_TOO_LARGE,
    },
  };
}

/** Adds the `mode` parameter: members can use both modes, so session requests select one. */
function queryOf({ auth, query }: Route) {
  if (auth !== 'keyOrSession') return query ? { query } : {};
  return { query: (query ?? z.object({})).extend({ mode: modeParameter }) };
}

/** The response to a request for a part of the content. */
function partOf({ contentType, schema, examples: given }: Route['success']) {
  return {
    description: 'The requested part of the content.',
    headers: headers({
      'X-Request-Id': 'Identifies this request in the logs of the service.',
      'Content-Range': 'Positions of the first and the last byte of the part, and the length of the whole.',
    }),
    content: { [contentType]: { schema, examples: examples(given) } },
  };
}

function errorResponses(codes: readonly ErrorCode[]): RouteConfig['responses'] {
  const responses: RouteConfig['responses'] = {};
  for (const status of new Set(codes.map((code) => ERRORS[code].status))) {
    const ofStatus = codes.filter((code) => ERRORS[code].status === status);
    responses[status] = {
      description: ofStatus.map((code) => `${code}: ${ERRORS[code].meaning}`).join(' '),
      headers: headers({
        'X-Request-Id': 'Identifies this request in the logs of the service.',
        ...(status === 429 || status === 503 ? { 'Retry-After': 'Seconds to wait.' } : {}),
        ...(status === 401 ? { 'WWW-Authenticate': 'How to authenticate.' } : {}),
      }),
      content: {
        'application/json': {
          schema: ErrorObject,
          examples: examples(Object.fromEntries(ofStatus.map((code) => [code, exampleOf(code)]))),
        },
      },
    };
  }
  return responses;
}

/** The server rejects headers that are too large before a route is known, so every route documents this error. */
const HEADERS_TOO_LARGE = {
  description: 'The request line and headers have more than 8 KiB.',
  headers: headers({ 'X-Request-Id': 'Identifies this request in the logs of the service.' }),
  content: {
    'application/json': {
      schema: ErrorObject,
      examples: examples({ PAYLOAD_TOO_LARGE: exampleOf('PAYLOAD_TOO_LARGE') }),
    },
  },
};

function exampleOf(code: ErrorCode): ErrorObject {
  const details = code === 'CONCURRENCY_LIMIT_EXCEEDED' ? { limit: 10, current: 10 } : {};
  const faults: RequestFault[] =
    code === 'MISSING_PARAMS'
      ? [{ param: 'to_phone_number', code: 'parameter_missing', message: 'to_phone_number is required.' }]
      : [];
  const references = {
    requestId: 'req_01JD3Q4Z6WX8Y2V7T5R9S1K0MN',
    errorDocs: errorDocsUrl({ publicBaseUrl: 'https://calls.example.com' }),
  };
  return errorObject({ code, message: ERRORS[code].meaning, details, faults }, references);
}

function completionWebhook(): RouteConfig {
  return {
    operationId: 'callCompleted',
    method: 'post',
    path: 'callCompleted',
    tags: ['Calls'],
    summary: 'Call completed',
    description:
      'Sent to webhook_url when a call completes. Respond with 2xx within 5 seconds; otherwise it is sent again after 1, 5 and 30 seconds. Deduplicate by call_id. Signed as Standard Webhooks describes (webhook-id, webhook-timestamp, webhook-signature) if the account has turned signing on.',
    security: [],
    request: {
      body: {
        required: true,
        content: {
          'application/json': { schema: CompletionPayload, examples: examples({ completed: COMPLETION_EXAMPLE }) },
        },
      },
    },
    responses: { '2XX': { description: 'Received.' } },
  };
}

function examples(values: Readonly<Record<string, unknown>>): Record<string, { value: unknown }> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value }]));
}

function headers(descriptions: Readonly<Record<string, string>>) {
  return Object.fromEntries(
    Object.entries(descriptions).map(([name, description]) => [
      name,
      { description, schema: { type: 'string' as const } },
    ]),
  );
}
