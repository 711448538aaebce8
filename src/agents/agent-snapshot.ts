import { Schema } from 'mongoose';
import type { Mode } from '../kernel/ids.js';
import { modeOfAgent } from './agent-mode.js';
import { AGENT_FIELD_LIST, type NameInCall } from './agent-definition.js';
import { storedAgentFields, type AgentDocument, type StoredAgentFields } from './model.js';

type Spoken = 'instruction' | 'voice' | 'language';
type Kept = Pick<StoredAgentFields, NameInCall>;

/** The agent's fields at the time of the call request. Later edits of the agent do not affect the call. */
export interface AgentSnapshot extends Pick<Kept, Spoken>, Partial<Omit<Kept, Spoken>> {
  agentId: string;
  /** The agent's own mode. Absent in temporary agents without tools, and in calls of earlier releases; then it is live. */
  mode?: Mode;
}

const FIELDS_IN_CALL = AGENT_FIELD_LIST.filter(({ inCall }) => inCall);
/**
 * Fields that every snapshot has. A call without a stored agent has a temporary agent, with these fields but no name.
 */
const SPOKEN: readonly string[] = ['instruction', 'voice', 'language'] satisfies Spoken[];

export const agentSnapshotSchema = new Schema<AgentSnapshot>(
  {
    agentId: { type: String, required: true },
    mode: String,
    ...storedAgentFields(FIELDS_IN_CALL, ({ stored }) => SPOKEN.includes(stored)),
  },
  { _id: false },
);

/** Copies the agent's fields that a call uses. Unset fields stay absent. */
export function snapshotOfAgent(agent: AgentDocument): AgentSnapshot {
  const kept = FIELDS_IN_CALL.map(({ stored }) => [stored, agent[stored as NameInCall]] as const);
  return {
    agentId: agent._id,
    mode: modeOfAgent(agent),
    ...(Object.fromEntries(kept.filter(([, value]) => value !== undefined)) as Kept),
  };
}
