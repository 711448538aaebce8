import { z } from 'zod';
import { defineRoute } from '../platform/http/contract/route.js';

/** Routes of the service itself: health checks and API documentation. */
export const serviceRoutes = {
  checkLiveness: defineRoute({
    method: 'get',
    path: '/health/live',
    tag: 'Service',
    summary: 'Check liveness',
    description:
      'Returns 200 as long as the process responds. It checks no dependency; use it to decide about a restart.',
    auth: 'none',
    success: {
      description: 'The process responds.',
      contentType: 'application/json',
      schema: z.object({ status: z.literal('live').describe('Always live.') }),
      examples: { live: { status: 'live' } },
    },
    errors: [],
  }),
  checkReadiness: defineRoute({
    method: 'get',
    path: '/health/ready',
    tag: 'Service',
    summary: 'Check readiness',
    description:
      'Checks MongoDB and Temporal and returns 200 when both respond, otherwise 503 with the state of each. Results are reused for one second, and those of Temporal’s database and task queue for five seconds. A process that is stopping returns 503 while it still serves requests.',
    auth: 'none',
    success: {
      description: 'MongoDB and Temporal respond.',
      contentType: 'application/json',
      schema: z.object({
        status: z.literal('ready').describe('Always ready; a service that is not ready returns 503.'),
        mongodb: z.literal('ok').describe('MongoDB responds.'),
        temporal: z.literal('ok').describe('Temporal responds.'),
      }),
      examples: { ready: { status: 'ready', mongodb: 'ok', temporal: 'ok' } },
    },
    errors: ['SERVICE_UNAVAILABLE'],
  }),
  checkServing: defineRoute({
    method: 'get',
    path: '/health/serving',
    tag: 'Service',
    summary: 'Check whether the process serves requests',
    description:
      'Returns 200, and 503 only while the process is stopping. For load balancers: if MongoDB or Temporal does not respond, all processes are concerned, and many requests still succeed.',
    auth: 'none',
    success: {
      description: 'The process serves requests.',
      contentType: 'application/json',
      schema: z.object({
        status: z.literal('serving').describe('Always serving; a process that is stopping returns 503.'),
      }),
      examples: { serving: { status: 'serving' } },
    },
    errors: ['SERVICE_UNAVAILABLE'],
  }),
  readInterface: defineRoute({
    method: 'get',
    path: '/openapi.json',
    tag: 'Service',
    summary: 'Read the OpenAPI document',
    description: 'Returns this OpenAPI document.',
    auth: 'none',
    success: {
      description: 'The API as an OpenAPI 3.1 document.',
      contentType: 'application/json',
      schema: z.looseObject({ openapi: z.literal('3.1.0').describe('OpenAPI version of the document.') }),
      examples: { document: { openapi: '3.1.0' } },
    },
    errors: [],
  }),
  readDocs: defineRoute({
    method: 'get',
    path: '/docs',
    tag: 'Service',
    summary: 'Read the API reference as HTML',
    description: 'Returns an HTML page that displays the OpenAPI document.',
    auth: 'none',
    success: {
      description: 'A page.',
      contentType: 'text/html',
      schema: z.string(),
      examples: { page: '<!DOCTYPE html>…' },
    },
    errors: [],
  }),
  readDocsFile: defineRoute({
    method: 'get',
    path: '/docs/{file}',
    tag: 'Service',
    summary: 'Read the page about errors, or an asset of the API reference',
    description: 'Returns the page about errors, or a script, a style sheet or an image that a page of the docs loads.',
    auth: 'none',
    params: z.object({ file: z.string().meta({ description: 'File name.', examples: ['swagger-ui.css'] }) }),
    success: {
      description: 'A file.',
      contentType: 'text/css',
      schema: z.string(),
      examples: { file: '…' },
      alternatives: {
        'text/javascript': { schema: z.string(), examples: { file: '…' } },
        'text/html': { schema: z.string(), examples: { file: '…' } },
        'image/png': { schema: z.string().meta({ format: 'binary' }), examples: { file: '…' } },
      },
    },
    errors: ['NOT_FOUND'],
  }),
};
