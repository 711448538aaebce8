import type { CallRequestDocument } from '../../../src/calls/call-request-model.js';

/** The request of a live outbound call as the service stores it. A test names the fields that it is about. */
export function callRequest({
  agentId = 'agent_1',
  ...fields
}: Partial<CallRequestDocument> & { _id: string; agentId?: string }): CallRequestDocument {
  return {
    accountId: 'acct_1',
    mode: 'live',
    direction: 'outbound',
    fromPhoneNumber: '+12025550199',
    toPhoneNumber: '+12025550100',
    agent: { agentId, instruction: 'Hello.', voice: 'amber', language: 'en-US' },
    inputParameters: '{}',
    externalCallId: '',
    ringTimeoutSeconds: 30,
    maxDurationSeconds: 600,
    createdAt: new Date(),
    ...fields,
  };
}
