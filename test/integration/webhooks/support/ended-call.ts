import { randomUUID } from 'node:crypto';
import type { Database } from '../../../../src/database.js';
import type { CallDocument } from '../../../../src/calls/call-model.js';

/** Stores an ended call whose webhook is not sent yet. */
export async function createEndedCall(
  database: Database,
  webhookUrl: string,
  change: Partial<CallDocument> = {},
): Promise<string> {
  const callId = `call_${randomUUID()}`;
  const shared = {
    _id: callId,
    accountId: change.accountId ?? 'acct_1',
    mode: 'live' as const,
    direction: 'outbound' as const,
    fromPhoneNumber: '+12025550199',
    toPhoneNumber: '+12025550100',
    inputParameters: '{}',
    externalCallId: 'order-7',
    createdAt: new Date(),
  };
  await database.calls.create({
    ...shared,
    sequence: 3,
    status: 'COMPLETED',
    endReason: 'callee_hangup',
    agentId: 'agent_1',
    updatedAt: new Date(),
    startTime: new Date(),
    endTime: new Date(),
    durationSeconds: 10,
    costMicros: 25_000,
    summary: 'They talked.',
    ...change,
  });
  await database.callRequests.create({
    ...shared,
    agent: { agentId: 'agent_1', instruction: 'Be kind.', voice: 'amber', language: 'en-US' },
    webhookUrl,
    ringTimeoutSeconds: 30,
    maxDurationSeconds: 600,
  });
  return callId;
}
