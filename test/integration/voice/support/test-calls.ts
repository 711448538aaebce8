import { randomBytes, randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { encodeCrockford } from '../../../../src/kernel/ids.js';
import { createCallRequests } from '../../../../src/calls/call-requests.js';
import { createCarrierBindings } from '../../../../src/telephony/carrier-bindings.js';
import type { Database } from '../../../../src/database.js';
import type { AgentSnapshot } from '../../../../src/agents/agent-snapshot.js';
import { newSid, SIMULATED } from '../../../support/sids.js';

/** No worker serves this task queue, so workflows stay open and collect the signals they receive. */
const TASK_QUEUE = `media-${randomUUID()}`;

export interface TestCall {
  callId: string;
  carrierSid: string;
  streamSid: string;
}

/**
 * Creates calls in the state in which a media server gets them: dialed, bound to the carrier's call, and with a running
 * workflow.
 */
export function createTestCalls(deps: { database: Database; client: Client; carrierKind?: string }) {
  const { database, client, carrierKind: kind = SIMULATED.kind } = deps;
  const running = new Set<string>();

  async function place(changes: { accountId?: string; agent?: Partial<AgentSnapshot> } = {}): Promise<TestCall> {
    const callId = `call_${encodeCrockford(randomBytes(16))}`;
    const carrierSid = newSid('CA');
    await createCallRequests(database).insert({
      _id: callId,
      accountId: changes.accountId ?? 'acct_1',
      mode: 'live',
      direction: 'outbound',
      fromPhoneNumber: '+12025550199',
      toPhoneNumber: '+12025550100',
      agent: {
        agentId: 'agent_1',
        instruction: 'I am calling about your table for two. Please confirm it.',
        voice: 'amber',
        language: 'en-US',
        ...changes.agent,
      },
      inputParameters: '{}',
      externalCallId: '',
      ringTimeoutSeconds: 30,
      maxDurationSeconds: 600,
      createdAt: new Date(),
    });
    await createCarrierBindings(database).bind(callId, carrierSid, { ...SIMULATED, kind });
    await client.workflow.start('CallWorkflow', { workflowId: callId, taskQueue: TASK_QUEUE, args: [] });
    running.add(callId);
    return { callId, carrierSid, streamSid: newSid('MZ') };
  }

  async function end(callId: string): Promise<void> {
    running.delete(callId);
    await client.workflow.getHandle(callId).terminate('the test needs it no more');
  }

  return {
    place,
    end,
    endAll: () => Promise.all(Array.from(running, end)),
  };
}
