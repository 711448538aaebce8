import {
  ATTEMPT_EXAMPLE,
  DELIVERY_EXAMPLE,
  FAILING_EXAMPLE,
  FailingWebhooks,
  LISTED_DELIVERY_EXAMPLE,
  RedeliverResponse,
  RotatedSigning,
  RotateSigningBody,
  WebhookDeliveriesQuery,
  WebhookDeliveryDetail,
  WebhookDeliveryList,
  WebhookSigning,
} from './schemas.js';
import { callParams, EXAMPLE_CALL_ID } from '../platform/http/contract/call-params.js';
import { defineRoute, ratedJsonResponse } from '../platform/http/contract/route.js';

const SIGNING_EXAMPLE = {
  enabled: true,
  secrets: [{ secret_id: 'whs_01JD3Q4Z6WX8Y2V7T5R9S1K0MN', created_at: '2026-11-21T10:00:00.000Z' }],
};

/** Routes for the deliveries of completion webhooks. */
export const deliveryRoutes = {
  listWebhookDeliveries: defineRoute({
    method: 'get',
    path: '/webhook_deliveries',
    tag: 'Webhooks',
    summary: 'List webhook deliveries',
    description: 'One delivery for each call that has a completion event, with the numbers and the agent of the call.',
    auth: 'keyOrSession',
    load: 'list',
    query: WebhookDeliveriesQuery,
    success: ratedJsonResponse('A page of deliveries.', WebhookDeliveryList, {
      page: { data: [LISTED_DELIVERY_EXAMPLE], has_more: false },
    }),
    errors: [],
  }),
  readWebhookDelivery: defineRoute({
    method: 'get',
    path: '/webhook_deliveries/{call_id}',
    tag: 'Webhooks',
    summary: 'Read a webhook delivery with its attempts',
    description:
      'Returns the delivery of the call’s completion webhook, with the body that is sent and every attempt. Returns 404 when the call has no completion event.',
    auth: 'keyOrSession',
    load: 'list',
    params: callParams,
    success: ratedJsonResponse('The delivery.', WebhookDeliveryDetail, {
      delivery: { ...DELIVERY_EXAMPLE, body: '{"call_id":"…"}', attempt_log: [ATTEMPT_EXAMPLE] },
    }),
    errors: ['NOT_FOUND'],
  }),
  redeliverWebhook: defineRoute({
    method: 'post',
    path: '/webhook_deliveries/{call_id}/redeliver',
    tag: 'Webhooks',
    summary: 'Deliver a webhook again',
    description:
      'Sends the same bytes and webhook-id with a new timestamp, in up to four attempts. A repeated request during a redelivery changes nothing. At most 30 requests a minute.',
    auth: 'keyOrSession',
    changes: 'mode',
    // The audit log needs no entry, because the delivery itself is recorded.
    unaudited: true,
    params: callParams,
    success: ratedJsonResponse('The redelivery has started.', RedeliverResponse, {
      underWay: { call_id: EXAMPLE_CALL_ID, redelivery: 1 },
    }),
    errors: ['NOT_FOUND', 'CONFLICT'],
  }),
  listFailingWebhooks: defineRoute({
    method: 'get',
    path: '/failing_webhooks',
    tag: 'Webhooks',
    summary: 'List failing webhook endpoints',
    description:
      'An endpoint fails when 20 events in a row, or all events of 24 hours, could not be delivered. It is listed until the next delivery to it succeeds, or until no delivery has failed for 7 days. Events are still sent to it.',
    auth: 'keyOrSession',
    load: 'list',
    success: ratedJsonResponse('The failing endpoints.', FailingWebhooks, {
      none: { data: [] },
      one: { data: [FAILING_EXAMPLE] },
    }),
    errors: [],
  }),
};

/** Routes for the signing secrets of webhooks. */
export const signingRoutes = {
  readWebhookSigning: defineRoute({
    method: 'get',
    path: '/webhook_signing',
    tag: 'Webhooks',
    summary: 'Read whether webhooks are signed',
    description: 'Returns whether completion webhooks are signed, and the secrets in force without their values.',
    auth: 'keyOrSession',
    success: ratedJsonResponse('The signing settings, without the secrets themselves.', WebhookSigning, {
      off: { enabled: false, secrets: [] },
      on: SIGNING_EXAMPLE,
    }),
    errors: [],
  }),
  rotateWebhookSigning: defineRoute({
    method: 'post',
    path: '/webhook_signing/rotate',
    tag: 'Webhooks',
    summary: 'Turn signing on, or rotate its secret',
    description:
      'From now on completion webhooks carry webhook-signature as Standard Webhooks describes it, with a signature by each secret in force. Requests of tools are signed with two secrets derived from each, one for live and one for test calls. The new secrets are only shown in this response. Members must be owners. Test keys are rejected.',
    auth: 'keyOrSession',
    changes: 'account',
    roles: ['owner'],
    body: {
      contentType: 'application/json',
      schema: RotateSigningBody,
      examples: { overlap: { overlap_hours: 48 }, first: {} },
    },
    success: ratedJsonResponse('The new settings and the new secrets.', RotatedSigning, {
      rotated: { ...SIGNING_EXAMPLE, secret: 'whsec_…', tool_secrets: { live: 'whsec_…', test: 'whsec_…' } },
    }),
    errors: [],
  }),
  turnOffWebhookSigning: defineRoute({
    method: 'delete',
    path: '/webhook_signing',
    tag: 'Webhooks',
    summary: 'Turn signing off',
    description: 'Deletes all secrets. Members must be owners. Test keys are rejected.',
    auth: 'keyOrSession',
    changes: 'account',
    roles: ['owner'],
    success: ratedJsonResponse('The new settings.', WebhookSigning, { off: { enabled: false, secrets: [] } }),
    errors: [],
  }),
};
