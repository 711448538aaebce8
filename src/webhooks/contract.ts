import {
  ATTEMPT_EXAMPLE,
  DELIVERY_EXAMPLE,
  FAILING_EXAMPLE,
  FailingWebhooks,
  RedeliverAnswer,
  RotatedSigning,
  RotateSigningBody,
  WebhookDeliveriesQuery,
  WebhookDeliveryDetail,
  WebhookDeliveryList,
  WebhookSigning,
} from './schemas.js';
import { callParams, EXAMPLE_CALL_ID } from '../platform/http/contract/call-params.js';
import { defineRoute, ratedJsonAnswer } from '../platform/http/contract/route.js';

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
    description: 'One for each call that has a completion event.',
    auth: 'keyOrSession',
    load: 'list',
    query: WebhookDeliveriesQuery,
    success: ratedJsonAnswer('A page of deliveries.', WebhookDeliveryList, {
      page: { data: [DELIVERY_EXAMPLE], has_more: false },
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
    success: ratedJsonAnswer('The delivery.', WebhookDeliveryDetail, {
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
      'The same bytes and webhook-id with a new timestamp, in up to four attempts. While it is under way, asking again changes nothing. At most 30 a minute.',
    auth: 'keyOrSession',
    changes: 'mode',
    // The delivery itself records it.
    unaudited: true,
    params: callParams,
    success: ratedJsonAnswer('It is on its way.', RedeliverAnswer, {
      underWay: { call_id: EXAMPLE_CALL_ID, redelivery: 1 },
    }),
    errors: ['NOT_FOUND', 'CONFLICT'],
  }),
  listFailingWebhooks: defineRoute({
    method: 'get',
    path: '/failing_webhooks',
    tag: 'Webhooks',
    summary: 'List receivers that take no webhooks',
    description:
      'A receiver fails when 20 events in a row were given up, or all those of 24 hours. It is listed until the next delivery to it succeeds, or until none has failed for 7 days; events are sent to it all the same.',
    auth: 'keyOrSession',
    load: 'list',
    success: ratedJsonAnswer('The receivers that fail now.', FailingWebhooks, {
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
    success: ratedJsonAnswer('How it stands; no secret is told.', WebhookSigning, {
      off: { enabled: false, secrets: [] },
      on: SIGNING_EXAMPLE,
    }),
    errors: [],
  }),
  rotateWebhookSigning: defineRoute({
    method: 'post',
    path: '/webhook_signing/rotate',
    tag: 'Webhooks',
    summary: 'Turn signing on, or replace its secret',
    description:
      'From now on completion webhooks carry webhook-signature as Standard Webhooks describes it, with a signature by each secret in force. The new secret is shown in this answer and never again. Members need to be owners. Not with a test key.',
    auth: 'keyOrSession',
    changes: 'account',
    roles: ['owner'],
    body: {
      contentType: 'application/json',
      schema: RotateSigningBody,
      examples: { overlap: { overlap_hours: 48 }, first: {} },
    },
    success: ratedJsonAnswer('How it stands now, and the new secret.', RotatedSigning, {
      rotated: { ...SIGNING_EXAMPLE, secret: 'whsec_…' },
    }),
    errors: [],
  }),
  turnOffWebhookSigning: defineRoute({
    method: 'delete',
    path: '/webhook_signing',
    tag: 'Webhooks',
    summary: 'Turn signing off',
    description: 'All secrets are forgotten. Members need to be owners. Not with a test key.',
    auth: 'keyOrSession',
    changes: 'account',
    roles: ['owner'],
    success: ratedJsonAnswer('How it stands now.', WebhookSigning, { off: { enabled: false, secrets: [] } }),
    errors: [],
  }),
};
