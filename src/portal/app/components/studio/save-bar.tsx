import { useState } from 'preact/hooks';
import { AGENT_FIELDS } from '../../../../agents/agent-definition.js';
import type { SavedAgent } from '../../../../agents/schemas.js';
import { Confirm } from '../dialog';
import { SubmitButton } from '../fields';

/** Warnings about calls of the agent that was saved. */
export function SaveWarnings({ of: warnings }: { of: NonNullable<SavedAgent['warnings']> }) {
  if (warnings.length === 0) return null;
  return (
    <div class="notice" role="status">
      {warnings.map(({ param, message }) => (
        <p key={param}>
          <strong>{AGENT_FIELDS[param].form.label}:</strong> {message}
        </p>
      ))}
    </div>
  );
}

/** The bar at the end of a long form, which stays in view and says whether the form has unsaved changes. */
export function SaveBar(p: {
  /** The text of the button. */
  action: string;
  isChanged: boolean;
  isSaved: boolean;
  busy: boolean;
  onDiscard: () => void;
}) {
  const [asking, setAsking] = useState(false);
  return (
    <div class={`save-bar${p.isChanged ? ' save-bar-changed' : ''}`}>
      <span role="status">{p.isChanged ? 'Unsaved changes' : p.isSaved ? 'Saved.' : ''}</span>
      <div class="actions">
        {p.isChanged ? (
          <button type="button" class="button" onClick={() => setAsking(true)}>
            Discard
          </button>
        ) : null}
        <SubmitButton busy={p.busy}>{p.action}</SubmitButton>
      </div>
      {asking ? (
        <Confirm
          title="Discard your changes?"
          text="The form shows the agent as it was saved last."
          action="Discard changes"
          onConfirm={async () => p.onDiscard()}
          onClose={() => setAsking(false)}
        />
      ) : null}
    </div>
  );
}
