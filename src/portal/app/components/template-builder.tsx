import { useState } from 'preact/hooks';
import { AGENT_FIELDS } from '../../../agents/agent-definition.js';

type Kind = 'text' | 'yes-no' | 'choices' | 'number';

interface Key {
  name: string;
  kind: Kind;
  choices: string;
}

const KINDS: readonly { value: Kind; label: string }[] = [
  { value: 'text', label: 'Text' },
  { value: 'yes-no', label: 'Yes or no' },
  { value: 'number', label: 'Number' },
  { value: 'choices', label: 'One of several choices' },
];

/** Edits the template of the data to extract, row by row. The template is a JSON object encoded as a string. */
export function TemplateBuilder(p: { value: string; error: string | undefined; onChange: (json: string) => void }) {
  const [keys, setKeys] = useState<Key[]>(() => keysOf(p.value));

  function change(next: Key[]): void {
    setKeys(next);
    p.onChange(jsonOf(next));
  }
  const edit = (index: number, part: Partial<Key>) =>
    change(keys.map((key, at) => (at === index ? { ...key, ...part } : key)));

  return (
    <fieldset class="template">
      <legend>{AGENT_FIELDS.output_parameters.form.label}</legend>
      {keys.map((key, index) => (
        <div class="template-row" key={index}>
          <input
            name={index === 0 ? 'output_parameters' : `output_parameters_${index}`}
            aria-label={`Name of field ${index + 1}`}
            placeholder="appointment_confirmed"
            value={key.name}
            onInput={(event) => edit(index, { name: event.currentTarget.value })}
          />
          <select
            aria-label={`Type of field ${index + 1}`}
            value={key.kind}
            onChange={(event) => edit(index, { kind: event.currentTarget.value as Kind })}
          >
            {KINDS.map(({ value, label }) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
          {key.kind === 'choices' ? (
            <input
              aria-label={`Choices of field ${index + 1}`}
              placeholder="small|medium|large"
              value={key.choices}
              onInput={(event) => edit(index, { choices: event.currentTarget.value })}
            />
          ) : null}
          <button
            type="button"
            class="button button-small"
            aria-label={`Remove field ${index + 1}`}
            onClick={() => change(keys.filter((_, at) => at !== index))}
          >
            Remove
          </button>
        </div>
      ))}
      <button
        type="button"
        class="button button-small"
        onClick={() => change([...keys, { name: '', kind: 'text', choices: '' }])}
      >
        Add field
      </button>
      <p class="hint">The agent collects each field. A field that was not mentioned in the call is returned as null.</p>
      {p.error === undefined ? null : <p class="field-error">{p.error}</p>}
    </fieldset>
  );
}

function keysOf(json: string): Key[] {
  try {
    const template = JSON.parse(json === '' ? '{}' : json) as Record<string, unknown>;
    return Object.entries(template).map(([name, value]) => {
      if (typeof value === 'boolean') return { name, kind: 'yes-no', choices: '' };
      if (typeof value === 'number') return { name, kind: 'number', choices: '' };
      if (typeof value === 'string' && value.includes('|')) return { name, kind: 'choices', choices: value };
      return { name, kind: 'text', choices: '' };
    });
  } catch {
    return [];
  }
}

function jsonOf(keys: readonly Key[]): string {
  const named = keys.filter(({ name }) => name.trim() !== '');
  if (named.length === 0) return '';
  const placeholder = ({ kind, choices }: Key) => ({ text: null, 'yes-no': false, number: 0, choices })[kind];
  return JSON.stringify(Object.fromEntries(named.map((key) => [key.name.trim(), placeholder(key)])));
}
