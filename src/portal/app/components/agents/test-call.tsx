import { useState } from 'preact/hooks';
import type { Call } from '../../../../calls/views/schemas.js';
import type { Mode } from '../../api';
import { duration, formatDollars } from '../../format';
import { endReasonLabel } from '../../labels';
import { usePortal } from '../../session';
import { isFinalStatus } from '../../../../kernel/call-state.js';
import { useCall } from '../../use-call';
import { useForm } from '../../use-form';
import { Failure } from '../feedback';
import { SubmitButton, TextField } from '../fields';
import { Icon } from '../icon';
import { Status } from '../values';

/** Numbers of the simulated carrier that are useful for tests. */
const SCRIPTS = [
  ['+12025550111', 'answers the questions of the demo agent'],
  ['+12025550100', 'talks, says goodbye and hangs up'],
  ['+12025550101', 'is busy'],
  ['+12025550105', 'is a voicemail'],
] as const;

/** Places a call and shows its progress as it happens. */
export function TestCall({ agentId }: { agentId: string }) {
  const { api, mode, session } = usePortal();
  const [callId, setCallId] = useState<string>();
  const form = useForm(
    { to_phone_number: '+12025550111' },
    async (values) => {
      const call = await api.post<Call>('/calls', { ...values, agent_id: agentId });
      setCallId(call.call_id);
    },
    { isGuarded: false },
  );

  return (
    <section class="card" aria-label="Test call">
      <h2>{mode === 'test' ? 'Test call' : 'Call'}</h2>
      <form onSubmit={(event) => void form.submit(event)} noValidate>
        <Failure>{form.failure}</Failure>
        <TextField
          label="Number to call"
          type="tel"
          hint={hintOf(mode, session?.live_calls_simulated === true)}
          {...form.field('to_phone_number')}
        />
        {mode === 'test' ? (
          <ul class="quiet">
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
