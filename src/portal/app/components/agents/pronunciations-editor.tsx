import { AGENT_FIELDS } from '../../../../agents/agent-definition.js';
import type { Pronunciation } from '../../../../kernel/conversation/conversation-settings.js';
import { SmallButton } from '../buttons';
import { ListError, rowChanges } from './rows';

const FIELD = AGENT_FIELDS.pronunciations;

/** Edits how the agent speaks words: one row for each. */
export function PronunciationsEditor(p: {
  name: string;
  value: readonly Pronunciation[];
  error: string | undefined;
  onChange: (value: Pronunciation[]) => void;
}) {
  const { add, edit, remove } = rowChanges(p.value, p.onChange);
  return (
    <fieldset class="template">
      <legend>{FIELD.form.label}</legend>
      <p class="hint">{FIELD.form.hint}</p>
      {p.value.map(({ text, spoken }, index) => (
        <div class="template-row" key={index}>
          <input
            name={`${p.name}_${index}_text`}
            aria-label={`Word ${index + 1}`}
            placeholder="Nginx"
            value={text}
            onInput={(event) => edit(index, { text: event.currentTarget.value })}
          />
          <input
            name={`${p.name}_${index}_spoken`}
            aria-label={`Pronunciation of word ${index + 1}`}
            placeholder="engine X"
            value={spoken}
            onInput={(event) => edit(index, { spoken: event.currentTarget.value })}
          />
          <SmallButton label={`Remove word ${index + 1}`} onClick={() => remove(index)}>
            Remove
          </SmallButton>
        </div>
      ))}
      {p.value.length >= FIELD.max ? null : (
        <SmallButton onClick={() => add({ text: '', spoken: '' })}>Add word</SmallButton>
      )}
      <ListError>{p.error}</ListError>
    </fieldset>
  );
}
