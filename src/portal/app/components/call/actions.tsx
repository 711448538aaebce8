import { useState } from 'preact/hooks';
import type { Call } from '../../../../calls/views/schemas.js';
import { isFinalStatus } from '../../../../kernel/call-state.js';
import { usePortal } from '../../session';
import { Confirm } from '../dialog';
import { Failure } from '../feedback';
import { Icon } from '../icon';

/** The buttons that end and erase a call, and for operators the link to its workflow. */
export function CallActions({ call, reload }: { call: Call; reload: () => void }) {
  const { api } = usePortal();
  const [asking, setAsking] = useState(false);
  const [failure, setFailure] = useState<string>();
  const act = (path: string) =>
    api.post(`/calls/${call.call_id}/${path}`).then(reload, (error: Error) => setFailure(error.message));
  return (
    <>
      <Failure>{failure}</Failure>
      {isFinalStatus(call.status) ? null : (
        <button type="button" class="button button-bad" onClick={() => void act('cancel')}>
          <Icon name="hangUp" /> {call.status === 'IN_PROGRESS' ? 'Hang up' : 'Cancel'}
        </button>
      )}
      {isFinalStatus(call.status) && call.erased_at === undefined ? (
        <button type="button" class="button" onClick={() => setAsking(true)}>
          <Icon name="trash" /> Erase
        </button>
      ) : null}
      <WorkflowLink call={call} />
      {asking ? (
        <Confirm
          title="Erase this call?"
          text="Phone numbers, instruction, parameters, summary, transcript, recording, tool calls and stored webhook are deleted permanently. Status, times and cost are kept."
          action="Erase permanently"
          onConfirm={() => act('erase')}
          onClose={() => setAsking(false)}
        />
      ) : null}
    </>
  );
}

/** The link to the call's workflow, for operators. */
function WorkflowLink({ call }: { call: Call }) {
  const { session } = usePortal();
  if (session?.temporal_ui_url === undefined) return null;
  return (
    <a
      class="button"
      href={`${session.temporal_ui_url}/workflows/${call.workflow_id}`}
      target="_blank"
      rel="noreferrer"
    >
      <Icon name="external" /> View workflow in Temporal
    </a>
  );
}
