import { useId, useState } from 'preact/hooks';
import { AGENT_FIELDS } from '../../../../agents/agent-definition.js';
import { SmallButton } from '../buttons';
import { choicesOf, outputFieldsOf, templateOf, type OutputField } from './output-template';
import { rowChanges } from './rows';

const KINDS: readonly { value: OutputField['kind']; label: string }[] = [
  { value: 'text', label: 'Text' },
  { value: 'yes-no', label: 'Yes or no' },
  { value: 'number', label: 'Number' },
  { value: 'choices', label: 'One of a list' },
];

/** The answers to a field that the offline demo understands by voice. It knows typed words exactly. */
const HEARD_OFFLINE: Readonly<Record<OutputField['kind'], string>> = {
  text: 'The offline demo hears only digits here. Type other answers, such as a name.',
  'yes-no': 'The offline demo hears yes and no.',
  number: 'The offline demo hears digits, one by one.',
  choices: 'The offline demo hears the listed choices.',
};

/**
 * Edits the template of the data to extract, row by row. The template is a JSON object encoded as a string.
 * @param p.engine the engine that would conduct a call
 */
export function TemplateBuilder(p: {
  value: string;
  error: string | undefined;
  engine: string;
  onChange: (json: string) => void;
}) {
  const [fields, setFields] = useState(() => outputFieldsOf(p.value));
  const { add, edit, remove } = rowChanges(fields, (next) => {
    setFields(next);
    p.onChange(templateOf(next));
  });
  return (
    <fieldset class="template">
      <legend>{AGENT_FIELDS.output_parameters.form.label}</legend>
      {fields.map((field, index) => (
        <OutputFieldRow
          key={index}
          of={field}
          index={index}
          hint={p.engine === 'offline-demo' ? HEARD_OFFLINE[field.kind] : undefined}
          onChange={(part) => edit(index, part)}
          onRemove={() => remove(index)}
        />
      ))}
      <SmallButton onClick={() => add({ name: '', kind: 'text', choices: '' })}>Add field</SmallButton>
      <p class="hint">The agent collects each field. A field that was not mentioned in the call is returned as null.</p>
      {p.error === undefined ? null : <p class="field-error">{p.error}</p>}
    </fieldset>
  );
}

function OutputFieldRow(p: {
  of: OutputField;
  index: number;
  hint: string | undefined;
  onChange: (part: Partial<OutputField>) => void;
  onRemove: () => void;
}) {
  const { of: field, index } = p;
  const number = index + 1;
  const [hintId, errorId] = [useId(), useId()];
  const isIncomplete = field.kind === 'choices' && choicesOf(field).length < 2;
  return (
    <div class="template-row output-field">
      <input
        name={index === 0 ? 'output_parameters' : `output_parameters_${index}`}
        aria-label={`Name of field ${number}`}
        placeholder="appointment_confirmed"
        value={field.name}
        onInput={(event) => p.onChange({ name: event.currentTarget.value })}
      />
      <select
        aria-label={`Type of field ${number}`}
        value={field.kind}
        {...(p.hint === undefined ? {} : { 'aria-describedby': hintId })}
        onChange={(event) => p.onChange({ kind: event.currentTarget.value as OutputField['kind'] })}
      >
        {KINDS.map(({ value, label }) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
      {field.kind === 'choices' ? (
        <input
          class="long"
          aria-label={`Choices of field ${number}`}
          placeholder="small, medium, large"
          value={field.choices}
          {...(isIncomplete ? { 'aria-invalid': true, 'aria-describedby': errorId } : {})}
          onInput={(event) => p.onChange({ choices: event.currentTarget.value })}
        />
      ) : null}
      <SmallButton label={`Remove field ${number}`} onClick={p.onRemove}>
        Remove
      </SmallButton>
      {isIncomplete ? (
        <p class="field-error" id={errorId}>
          Enter at least two choices, separated by commas.
        </p>
      ) : null}
      {p.hint === undefined ? null : (
        <p class="hint" id={hintId}>
          {p.hint}
        </p>
      )}
    </div>
  );
}
