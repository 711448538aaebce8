import { Schema } from 'mongoose';
import { AGENT_FIELD_LIST, type NameInCall } from './agent-definition.js';
import { storedAgentFields, type AgentDocument, type StoredAgentFields } from './model.js';

type Spoken = 'instruction' | 'voice' | 'language';
type Kept = Pick<StoredAgentFields, NameInCall>;

/** The agent as it was when the call was asked for; later edits do not reach a running call. */
export interface AgentSnapshot extends Pick<Kept, Spoken>, Partial<Omit<Kept, Spoken>> {
  agentId: string;
}

const FIELDS_IN_CALL = AGENT_FIELD_LIST.filter(({ inCall }) => inCall);
/** A temporary agent has these and no name. */
const SPOKEN: readonly string[] = ['instruction', 'voice', 'language'] satisfies Spoken[];

export const agentSnapshotSchema = new Schema<AgentSnapshot>(
  {
    agentId: { type: String, required: true },
    ...storedAgentFields(FIELDS_IN_CALL, ({ stored }) => SPOKEN.includes(stored)),
  },
  { _id: false },
);

/** What of an agent a call keeps; what is not set stays absent. */
export function snapshotOfAgent(agent: AgentDocument): AgentSnapshot {
  const kept = FIELDS_IN_CALL.map(({ stored }) => [stored, agent[stored as NameInCall]] as const);
  return {
    agentId: agent._id,
    ...(Object.fromEntries(kept.filter(([, value]) => value !== undefined)) as Kept),
  };
}
