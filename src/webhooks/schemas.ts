import { z } from 'zod';
import { CALL_STATUSES } from '../kernel/call-state.js';
import { listOf, timestamp, paging } from '../platform/http/contract/list.js';

export const WebhookAttempt = z
  .object({
    number: z.int().describe('Number of the attempt, from 1, counted across redeliveries.'),
    redelivery: z.int().describe('0: the first delivery; n: the n-th redelivery.'),
    started_at: timestamp('When the attempt was sent.'),
    finished_at: timestamp('When the attempt finished.').optional(),
    outcome: z
      .enum(['delivered', 'failed', 'interrupted'])
      .optional()
      .describe('Result of the attempt. Absent while it is in progress.'),
    http_status: z.int().optional().describe('HTTP status that the endpoint returned. Absent when it returned none.'),
    error: z.string().optional().describe('Class of the failure, such as timeout or status.'),
    duration_ms: z.number().optional().describe('Milliseconds that the attempt took. Absent until it has finished.'),
    response_body: z.string().optional().describe('The first KiB of the response body.'),
  })
  .meta({ id: 'WebhookAttempt' });
export type WebhookAttempt = z.infer<typeof WebhookAttempt>;

const headersOf = (what: string) =>
  z
    .array(
      z.object({
        name: z.string().describe('Name of the header, in lower case.'),
        value: z
          .string()
          .describe('Its value, up to 256 characters, or fewer if there are many; [not stored] if it may be a secret.'),
      }),
    )
    .optional()
    .describe(
      `Headers of the ${what}, 32 headers and 2,048 characters at most. Absent for older attempts and after erasure.`,
    );

export const WebhookAttemptDetail = z
  .object({
    ...WebhookAttempt.shape,
    request_headers: headersOf('request'),
    response_headers: headersOf('response'),
    response_headers_left_out: z
      .int()
      .optional()
      .describe('Further response headers, which were not stored because there were too many. Absent if none.'),
  })
  .meta({ id: 'WebhookAttemptDetail' });
export type WebhookAttemptDetail = z.infer<typeof WebhookAttemptDetail>;

const delivery = {
  call_id: z.string().describe('Identifier of the call that the event reports.'),
  webhook_id: z.string().describe('Value of the webhook-id header, the same on every attempt.'),
  url: z.string().describe('URL of the webhook endpoint. Empty after erasure.'),
  state: z
    .enum(['pending', 'delivered', 'failed'])
    .describe('State of the latest delivery: failed means that every attempt failed, pending that it is under way.'),
  attempts: z.int().describe('Attempts so far, redeliveries included.'),
  redeliveries: z.int().describe('Number of redeliveries requested so far.'),
  created_at: timestamp('When the event was created.'),
  last_attempt_at: timestamp('When the last attempt ended.').optional(),
};

export const WebhookDelivery = z.object(delivery).meta({ id: 'WebhookDelivery' });
export type WebhookDelivery = z.infer<typeof WebhookDelivery>;

/** Direction and numbers of a call, as every response names them. */
export const callParties = {
  call_direction: z
    .enum(['outbound', 'inbound'])
    .describe('Whether the service placed the call (outbound) or received it (inbound).'),
  from_phone_number: z
    .string()
    .describe('Number that the call comes from; web: and a name for a call in the browser. Empty after erasure.'),
  to_phone_number: z.string().describe('Number that was called; web for a call in the browser. Empty after erasure.'),
};

export const DeliveredCall = z
  .object({
    status: z.enum(CALL_STATUSES).describe('State of the call.'),
    ...callParties,
    agent_name: z
      .string()
      .optional()
      .describe(
        'Name of the agent or draft when the call was requested. Absent if the request brought only an instruction, and after erasure.',
      ),
  })
  .meta({ id: 'DeliveredCall' });
export type DeliveredCall = z.infer<typeof DeliveredCall>;

export const ListedWebhookDelivery = z
  .object({
    ...delivery,
    call: DeliveredCall.optional().describe('The call that the event reports. Absent if it no longer exists.'),
  })
  .meta({ id: 'ListedWebhookDelivery' });
export type ListedWebhookDelivery = z.infer<typeof ListedWebhookDelivery>;
export const WebhookDeliveryList = listOf(ListedWebhookDelivery, 'WebhookDeliveryList');

export const WebhookDeliveryDetail = z
  .object({
    ...delivery,
    body: z.string().describe('Body of the webhook, exactly as sent. Empty after erasure.'),
    attempt_log: z.array(WebhookAttemptDetail).describe('The attempts in order, with their headers.'),
  })
  .meta({ id: 'WebhookDeliveryDetail' });
export type WebhookDeliveryDetail = z.infer<typeof WebhookDeliveryDetail>;

export const FailingWebhooks = z
  .object({
    data: z
      .array(
        z
          .object({
            url: z.string().describe('URL of the endpoint, without its query.'),
            since: timestamp('When the first event after the last success failed for good.'),
            failed_deliveries: z.int().describe('Events that failed since the last success, counted up to 100.'),
            last_failed_at: timestamp('When the last event failed for good.'),
            last_call_id: z.string().describe('Call of the event that failed last.'),
            last_error: z.string().optional().describe('Class of its last failure, such as timeout or status.'),
            last_http_status: z
              .int()
              .optional()
              .describe('HTTP status of its last failed attempt. Absent when the endpoint returned none.'),
            last_delivered_at: timestamp('The last success; absent when there was none.').optional(),
          })
          .meta({ id: 'FailingWebhook' }),
      )
      .describe('At most 20 endpoints, the latest failure first.'),
  })
  .meta({ id: 'FailingWebhooks' });
export type FailingWebhooks = z.infer<typeof FailingWebhooks>;
export type FailingWebhook = FailingWebhooks['data'][number];

export const WebhookDeliveriesQuery = z.object({
  ...paging(),
  state: z
    .enum(['pending', 'delivered', 'failed'], 'state must be pending, delivered or failed.')
    .optional()
    .meta({ description: 'Returns only deliveries in this state.' }),
});

export const RedeliverResponse = z
  .object({
    call_id: z.string().describe('Identifier of the call whose webhook is redelivered.'),
    redelivery: z.int().describe('Number of this redelivery, from 1. Read the delivery to see its result.'),
  })
  .meta({ id: 'RedeliverAnswer' });

const signing = {
  enabled: z.boolean().describe('Whether webhooks are signed. Off by default.'),
  secrets: z
    .array(
      z.object({
        secret_id: z.string().describe('Identifier of the signing secret. It is not the secret itself.'),
        created_at: timestamp('When the secret was created.'),
        expires_at: timestamp(
          'When a replaced secret stops signing beside the new one. Absent for the current secret.',
        ).optional(),
      }),
    )
    .describe('Newest first.'),
};
export const WebhookSigning = z.object(signing).meta({ id: 'WebhookSigning' });
export type WebhookSigning = z.infer<typeof WebhookSigning>;

export const RotatedSigning = z
  .object({
    ...signing,
    secret: z.string().describe('The new secret of webhooks, whsec_…. Only this response contains it.'),
    tool_secrets: z
      .object({
        live: z.string().describe('Signs the requests of tools in live calls, whsec_….'),
        test: z.string().describe('Signs the requests of tools in test calls, whsec_….'),
      })
      .describe('The secrets of the requests of tools, derived from the new secret. Only this response contains them.'),
  })
  .meta({ id: 'RotatedWebhookSigning' });
export type RotatedSigning = z.infer<typeof RotatedSigning>;

export const RotateSigningBody = z
  .strictObject({
    overlap_hours: z
      .number('overlap_hours must be a number of hours.')
      .min(0, 'overlap_hours must be from 0 to 168.')
      .max(168, 'overlap_hours must be from 0 to 168.')
      .optional()
      .meta({ description: 'Hours during which the previous secret signs beside the new one. Default: 24.' }),
  })
  .meta({ id: 'RotateWebhookSigning' });

export const ATTEMPT_EXAMPLE: z.infer<typeof WebhookAttempt> = {
  number: 1,
  redelivery: 0,
  started_at: '2026-11-21T10:00:52.000Z',
  finished_at: '2026-11-21T10:00:52.080Z',
  outcome: 'delivered',
  http_status: 200,
  duration_ms: 80,
};

export const FAILING_EXAMPLE: FailingWebhook = {
  url: 'https://example.com/call-completed',
  since: '2026-11-20T09:12:04.000Z',
  failed_deliveries: 31,
  last_failed_at: '2026-11-21T10:01:28.000Z',
  last_call_id: 'call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN',
  last_error: 'status',
  last_http_status: 404,
  last_delivered_at: '2026-11-20T09:02:17.000Z',
};

export const DELIVERY_EXAMPLE: WebhookDelivery = {
  call_id: 'call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN',
  webhook_id: 'evt_call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN_completed',
  url: 'https://example.com/call-completed',
  state: 'failed',
  attempts: 4,
  redeliveries: 0,
  created_at: '2026-11-21T10:00:52.000Z',
  last_attempt_at: '2026-11-21T10:01:28.000Z',
};

export const LISTED_DELIVERY_EXAMPLE: ListedWebhookDelivery = {
  ...DELIVERY_EXAMPLE,
  call: {
    status: 'COMPLETED',
    call_direction: 'outbound',
    from_phone_number: '+12025550199',
    to_phone_number: '+12025550100',
    agent_name: 'Reminders',
  },
};
