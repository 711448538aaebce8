import { toStored } from '../../src/agents/agent-definition.js';
import { checkAgentFields } from '../../src/agents/agent-fields.js';
import { snapshotOfAgent } from '../../src/agents/agent-snapshot.js';
import type { StoredAgentFields } from '../../src/agents/model.js';
import { buildEngineCall } from '../../src/voice/session/engine-call.js';
import { buildPrompt } from '../../src/voice/session/prompt.js';

const STORED = { name: 'Reminders 2', instruction: 'B', voice: 'amber', language: 'en-US' };
const LIMITS = { maxDurationSeconds: 60, ringTimeoutSeconds: 30 };
const DOCUMENT = { _id: 'agent_1', accountId: 'acct_1', createdAt: new Date(), updatedAt: new Date() };

function promptWith(fields: object): string {
  const stored = checkAgentFields({ ...STORED, ...LIMITS, ...toStored(fields) }) as Omit<StoredAgentFields, 'tools'>;
  const agent = snapshotOfAgent({ ...stored, ...DOCUMENT });
  const call = { _id: 'call_1', agent, inputParameters: '{}', direction: 'outbound' };
  return buildPrompt(buildEngineCall(call as Parameters<typeof buildEngineCall>[0], false));
}

it('tells the model the spoken name of the agent, or its name', () => {
  expect(promptWith({ spoken_name: ' Ada ' })).toContain('You are ⟦Ada⟧, an assistant');
  expect(promptWith({})).toContain('You are ⟦Reminders 2⟧, an assistant');
});
