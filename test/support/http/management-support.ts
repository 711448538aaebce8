import { ledgerAccountId, type Mode } from '../../../src/kernel/ids.js';
import { createCallProjection } from '../../../src/calls/projection.js';
import { newCallId } from '../store/test-database.js';
import type { ServiceResponse, Customer, Service } from './harness.js';
import type { CallDocument } from '../../../src/calls/call-model.js';

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** Functions that send requests to the management API with a key, and that store ended calls. */
export function managementOf(service: Service) {
  function send(method: Method, path: string, key: string, body?: unknown): Promise<ServiceResponse> {
    return service.request(path, {
      method,
      key,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
    });
  }

  return {
    get: (path: string, key: string) => send('GET', path, key),
    post: (path: string, key: string, body?: unknown) => send('POST', path, key, body),
    patch: (path: string, key: string, body: unknown) => send('PATCH', path, key, body),
    delete: (path: string, key: string) => send('DELETE', path, key),

    /** Stores an ended call in the form in which its workflow would store it. @returns the call's id */
    async endedCall(
      customer: Customer,
      change: Partial<CallDocument> & { mode?: Mode; webhookUrl?: string } = {},
    ): Promise<string> {
      const { webhookUrl, mode = 'live', ...further } = change;
      const callId = newCallId();
      const accountId = customer.account._id;
      const request = {
        _id: callId,
        accountId,
        mode,
        direction: 'outbound' as const,
        fromPhoneNumber: '+12025550199',
        toPhoneNumber: '+12025550100',
        agent: {
          agentId: customer.agent._id,
          name: customer.agent.name,
          instruction: 'Mention the purple elephant.',
          voice: 'amber',
          language: 'en-US',
        },
        inputParameters: '{"customer":"Ms Chen"}',
        externalCallId: 'order-4711',
        ...(webhookUrl === undefined ? {} : { webhookUrl }),
        ringTimeoutSeconds: 30,
        maxDurationSeconds: 600,
        createdAt: further.createdAt ?? new Date(Date.now() - 20_000),
      };
      await service.database.callRequests.create(request);
      const projection = createCallProjection(service.database);
      const at = request.createdAt.getTime();
      await projection.begin(request, { callId, sequence: 1, at });
      await projection.apply({ callId, sequence: 2, at: at + 5_000, status: 'IN_PROGRESS', startTime: at + 5_000 });
      await projection.apply(
        { callId, sequence: 3, at: at + 15_000, status: 'COMPLETED', endReason: 'callee_hangup', endTime: at + 15_000 },
        {
          durationSeconds: 10,
          costMicros: 25_000,
          summary: 'They talked of the purple elephant.',
          transcription: 'agent: purple elephant',
          ...further,
        },
      );
      return callId;
    },

    moneyOf: (customer: Customer, mode: Mode = 'live') => ledgerAccountId(customer.account._id, mode),
  };
}

export interface ListResponse {
  data: Record<string, unknown>[];
  has_more: boolean;
  next_cursor?: string;
}

export function listOf({ status, json }: ServiceResponse): ListResponse {
  expect(status).toBe(200);
  return json as unknown as ListResponse;
}
