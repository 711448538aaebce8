import { z } from 'zod';
import { ApiKey, ApiKeyChangesBody, ApiKeyList, KEY_EXAMPLE, NewApiKey, NewApiKeyBody } from '../accounts/schemas.js';
import { defineRoute, ratedJsonResponse } from '../../platform/http/contract/route.js';

const keyParams = z.object({
  key_id: z.string().meta({ description: 'Key identifier.', examples: [KEY_EXAMPLE.key_id] }),
});

const json = 'application/json';
const keyResponse = ratedJsonResponse('The key.', ApiKey, { key: KEY_EXAMPLE });

/** Routes of API keys, limited to the account and mode of the request. */
export const apiKeyRoutes = {
  listApiKeys: defineRoute({
    method: 'get',
    path: '/api_keys',
    tag: 'API keys',
    summary: 'List API keys',
    description: 'Returns all keys of the mode, newest first. Requires an API key or the role owner or developer.',
    auth: 'keyOrSession',
    load: 'list',
    roles: ['owner', 'developer'],
    success: ratedJsonResponse('The keys.', ApiKeyList, { page: { data: [KEY_EXAMPLE], has_more: false } }),
    errors: [],
  }),
  createApiKey: defineRoute({
    method: 'post',
    path: '/api_keys',
    tag: 'API keys',
    summary: 'Create an API key',
    description:
      'Creates a key of the mode of the request. The key is returned only in this response. At most 100 active keys. Requires an API key or the role owner.',
    auth: 'keyOrSession',
    changes: 'mode',
    roles: ['owner'],
    body: { contentType: json, schema: NewApiKeyBody, examples: { key: { name: 'backend' } } },
    success: ratedJsonResponse('The key.', NewApiKey, { key: { ...KEY_EXAMPLE, secret: 'sk_live_…' } }),
    errors: ['CONFLICT'],
  }),
  updateApiKey: defineRoute({
    method: 'patch',
    path: '/api_keys/{key_id}',
    tag: 'API keys',
    summary: 'Update an API key',
    description: 'Changes the name or expiry. Requires an API key or the role owner.',
    auth: 'keyOrSession',
    changes: 'mode',
    roles: ['owner'],
    params: keyParams,
    body: {
      contentType: json,
      schema: ApiKeyChangesBody,
      examples: { expiry: { expires_at: '2027-12-01T00:00:00.000Z' }, name: { name: 'worker' } },
    },
    success: keyResponse,
    errors: ['NOT_FOUND', 'CONFLICT'],
  }),
  revokeApiKey: defineRoute({
    method: 'delete',
    path: '/api_keys/{key_id}',
    tag: 'API keys',
    summary: 'Revoke an API key',
    description:
      'The key and the keys that it has created are rejected from the next request on. Requires an API key or the role owner.',
    auth: 'keyOrSession',
    changes: 'mode',
    roles: ['owner'],
    params: keyParams,
    success: ratedJsonResponse('The revoked key.', ApiKey, {
      revoked: { ...KEY_EXAMPLE, state: 'revoked', revoked_at: '2026-11-22T10:00:00.000Z' },
    }),
    errors: ['NOT_FOUND'],
  }),
};
