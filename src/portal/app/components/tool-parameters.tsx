import { useState } from 'preact/hooks';
import { indented, PARAMETER_TYPES, parametersFromSchema, schemaOf, type ToolParameter } from '../tool-schema';
import { TextArea } from './fields';

/** Edits the arguments of a tool: as a list, or as JSON Schema if the list cannot represent it. */
export function ToolParameters(p: {
  name: string;
  value: string;
  error: string | undefined;
  onChange: (schema: string) => void;
}) {
  const listed = parametersFromSchema(p.value);
  const [rows, setRows] = useState<readonly ToolParameter[]>(listed ?? []);
  const [asSchema, setAsSchema] = useState(listed === undefined);

  function change(next: readonly ToolParameter[]): void {
    setRows(next);
    p.onChange(schemaOf(next, p.value));
  }
  const edit = (index: number, part: Partial<ToolParameter>) =>
    change(rows.map((row, at) => (at === index ? { ...row, ...part } : row)));

  function turn(): void {
    if (asSchema) setRows(listed ?? []);
    else p.onChange(indented(p.value));
    setAsSchema(!asSchema);
  }

  return (
    <fieldset class="template">
      <legend>Parameters</legend>
      {asSchema ? (
        <TextArea
          label="JSON Schema"
          name={p.name}
          rows={8}
          monospace
          hint="Of type object, without references, patterns and formats."
          value={p.value}
          error={p.error}
          onChange={p.onChange}
        />
      ) : (
        <>
          {rows.map((row, index) => (
            <ParameterRow
              key={index}
              of={row}
              number={index + 1}
              onChange={(part) => edit(index, part)}
              onRemove={() => change(rows.filter((_, at) => at !== index))}
            />
          ))}
          {p.error === undefined ? null : (
            <p class="field-error" role="alert">
              {p.error}
            </p>
          )}
        </>
      )}
      <div class="actions">
        {asSchema ? null : (
          <button
            type="button"
            class="button button-small"
            onClick={() => change([...rows, { name: '', type: 'string', description: '', required: true }])}
          >
            Add parameter
          </button>
        )}
        {asSchema && listed === undefined ? (
          <span class="quiet">This schema is too complex for the list editor.</span>
        ) : (
          <button type="button" class="button button-small" onClick={turn}>
            {asSchema ? 'Edit as a list' : 'Edit as JSON Schema'}
          </button>
        )}
      </div>
    </fieldset>
  );
}

function ParameterRow(p: {
  of: ToolParameter;
  number: number;
  onChange: (part: Partial<ToolParameter>) => void;
  onRemove: () => void;
}) {
  const { of: row, number } = p;
  return (
    <div class="template-row">
      <input
        aria-label={`Name of parameter ${number}`}
        placeholder="order_number"
        value={row.name}
        onInput={(event) => p.onChange({ name: event.currentTarget.value })}
      />
      <select
        aria-label={`Type of parameter ${number}`}
        value={row.type}
        onChange={(event) => p.onChange({ type: event.currentTarget.value as ToolParameter['type'] })}
      >
        {PARAMETER_TYPES.map(({ value, label }) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
      <input
        class="long"
        aria-label={`Description of parameter ${number}`}
        placeholder="Description for the model"
        value={row.description}
        onInput={(event) => p.onChange({ description: event.currentTarget.value })}
      />
      <label class="check">
        <input
          type="checkbox"
          checked={row.required}
          onChange={(event) => p.onChange({ required: event.currentTarget.checked })}
        />{' '}
        Required
      </label>
      <button type="button" class="button button-small" aria-label={`Remove parameter ${number}`} onClick={p.onRemove}>
        Remove
      </button>
    </div>
  );
}
