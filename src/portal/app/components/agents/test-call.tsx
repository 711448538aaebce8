import { useState } from 'preact/hooks';
import type { Agent } from '../../../../agents/schemas.js';
import type { Call } from '../../../../calls/views/schemas.js';
import type { Mode } from '../../api';
import { duration, formatDollars } from '../../format';
import { endReasonLabel } from '../../labels';
import { usePortal } from '../../session';
import { isFinalStatus } from '../../../../kernel/call-state.js';
import { nameWithMode } from '../../use-agents';
import { useCall } from '../../use-call';
import { useForm } from '../../use-form';
import { Failure } from '../feedback';
import { SelectField, SubmitButton, TextField } from '../fields';
import { Icon } from '../icon';
import { Status } from '../values';

/** The number of the simulated carrier whose person answers the questions of the demo agent. */
export const ANSWERING_NUMBER = '+12025550111';

/** Numbers of the simulated carrier that are useful for tests. */
const SCRIPTS = [
  [ANSWERING_NUMBER, 'answers “Yes”, “Four one five two”, “Yes, that is right” and “Afternoon”'],
  ['+12025550100', 'talks, says goodbye and hangs up'],
  ['+12025550101', 'is busy'],
  ['+12025550105', 'is a voicemail'],
] as const;

/**
 * Places a call and shows its progress as it happens.
 * @param p.agents the agents to choose from, the first one being chosen at first
 */
export function TestCall(p: { agents: readonly [Agent, ...Agent[]]; onPlaced?: () => void }) {
  const { api, mode, session } = usePortal();
  const [chosenId, setChosenId] = useState<string>();
  const agent = p.agents.find(({ agent_id: id }) => id === chosenId) ?? p.agents[0];
  const [callId, setCallId] = useState<string>();
  const form = useForm(
    { to_phone_number: ANSWERING_NUMBER },
    async (values) => {
      const call = await api.post<Call>('/calls', { ...values, agent_id: agent.agent_id });
      setCallId(call.call_id);
      p.onPlaced?.();
    },
    { isGuarded: false },
  );

  return (
    <section class="card" aria-label="Test call">
      <h2>{mode === 'test' ? 'Test call' : 'Call'}</h2>
      <form onSubmit={(event) => void form.submit(event)} noValidate>
        <Failure>{form.failure}</Failure>
        <CallingAgent agent={agent} agents={p.agents} onChange={setChosenId} />
        <TextField
          label="Number to call"
          type="tel"
          hint={hintOf(mode, session?.live_calls_simulated === true)}
          {...form.field('to_phone_number')}
        />
        {mode === 'test' ? (
          <ul class="quiet plain-list">
            {SCRIPTS.map(([number, what]) => (
              <li key={number}>
                <button type="button" class="button button-link" onClick={() => form.set({ to_phone_number: number })}>
                  {number}
                </button>{' '}
                {what}
              </li>
            ))}
          </ul>
        ) : null}
        <SubmitButton busy={form.busy}>
          <Icon name="calls" /> {mode === 'test' ? 'Place test call' : 'Place call'}
        </SubmitButton>
      </form>
      {callId === undefined ? null : <Progress key={callId} callId={callId} />}
    </section>
  );
}

/** Names the agent that calls, as a choice if there are several. */
function CallingAgent(p: { agent: Agent; agents: readonly Agent[]; onChange: (agentId: string) => void }) {
  const { mode } = usePortal();
  if (p.agents.length === 1) {
    return (
      <p>
        <strong class="breakable">{p.agent.name}</strong> calls this number.
      </p>
    );
  }
  return (
    <SelectField
      label="Agent"
      name="calling_agent"
      value={p.agent.agent_id}
      options={p.agents.map((each) => ({ value: each.agent_id, label: nameWithMode(each, mode) }))}
      onChange={p.onChange}
    />
  );
}

function hintOf(mode: Mode, isSimulated: boolean): string {
  if (mode === 'test') return 'In test mode, a simulated person answers.';
  return isSimulated
    ? 'A simulated person answers, no phone rings, and the call is billed.'
    : 'A real phone rings and the call is billed.';
}

function Progress({ callId }: { callId: string }) {
  const { api, mode, to } = usePortal();
  const call = useCall(api, mode, callId);
  if (call.state === 'failed') return <Failure>{call.error.message}</Failure>;
  if (call.data === undefined) return <p role="status">Dialing…</p>;
  const { status, end_reason, duration_seconds, cost, summary } = call.data;
  return (
    <div class="notice" role="status">
      <p>
        <Status of={status} /> {endReasonLabel(end_reason)}
        {duration_seconds === undefined ? '' : ` · ${duration(duration_seconds)}`}
        {cost === undefined ? '' : ` · ${formatDollars(cost)}`}
      </p>
      {summary === undefined ? null : <p>{summary}</p>}
      <a href={to(`/calls/${callId}`)}>{isFinalStatus(call.data.status) ? 'View call' : 'Follow call'}</a>
    </div>
  );
}
