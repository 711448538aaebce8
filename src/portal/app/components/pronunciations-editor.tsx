import { AGENT_FIELDS } from '../../../agents/agent-definition.js';
import type { Pronunciation } from '../../../kernel/conversation/conversation-settings.js';

const FIELD = AGENT_FIELDS.pronunciations;

/** Edits how the agent speaks words: one row for each. */
export function PronunciationsEditor(p: {
  name: string;
  value: readonly Pronunciation[];
  error: string | undefined;
  onChange: (value: Pronunciation[]) => void;
}) {
  const edit = (index: number, part: Partial<Pronunciation>) =>
    p.onChange(p.value.map((each, at) => (at === index ? { ...each, ...part } : each)));
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
          <button
            type="button"
            class="button button-small"
            aria-label={`Remove word ${index + 1}`}
            onClick={() => p.onChange(p.value.filter((_, at) => at !== index))}
          >
            Remove
          </button>
        </div>
      ))}
      {p.value.length >= FIELD.max ? null : (
        <button
          type="button"
          class="button button-small"
          onClick={() => p.onChange([...p.value, { text: '', spoken: '' }])}
        >
          Add word
        </button>
      )}
      {p.error === undefined ? null : (
        <p class="field-error" role="alert">
          {p.error}
        </p>
      )}
    </fieldset>
  );
}
