import { useState } from 'preact/hooks';
import { usePortal } from '../../session';
import { useVoicePreview } from '../../talk/use-voice-preview';
import type { useForm } from '../../use-form';
import type { AgentForm } from '../agents/agent-form';
import { Failure } from '../feedback';
import { Icon } from '../icon';
import { formErrorOf, previewRequestOf } from './draft';

/** Speaks a sentence with the voice in the form, in a short call without a microphone. */
export function VoicePreview({ form }: { form: ReturnType<typeof useForm<AgentForm>> }) {
  const { api, mode } = usePortal();
  const { phase, play, stop } = useVoicePreview(api);
  const [failure, setFailure] = useState<string>();

  async function start(): Promise<void> {
    setFailure(undefined);
    form.clearErrors();
    const error = await play(previewRequestOf(form.values));
    if (error === undefined) return;
    const ofForm = formErrorOf(error);
    if (ofForm === undefined) setFailure(error.message);
    else form.show(ofForm);
  }

  return (
    <div class="field">
      <Failure>{failure}</Failure>
      <div class="actions">
        {phase === 'idle' ? (
          <button type="button" class="button" onClick={() => void start()}>
            <Icon name="volume" /> Hear this voice
          </button>
        ) : (
          <button type="button" class="button" onClick={stop}>
            Stop
          </button>
        )}
        <span class="quiet" role="status">
          {phase === 'connecting' ? 'Connecting…' : phase === 'speaking' ? 'Speaking…' : ''}
        </span>
      </div>
      <p class="hint">
        A call of a few seconds that says one sentence.{' '}
        {mode === 'test' ? 'In test mode it costs test money only.' : 'In live mode it is billed as a received call.'}
      </p>
    </div>
  );
}
