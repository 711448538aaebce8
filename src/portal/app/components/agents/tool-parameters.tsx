import { useState } from 'preact/hooks';
import { SmallButton } from '../buttons';
import { TextArea } from '../fields';
import { ListError, rowChanges } from './rows';
import { indented, PARAMETER_TYPES, parametersFromSchema, schemaOf, type ToolParameter } from './tool-schema';

interface Schema {
  name: string;
  value: string;
  error: string | undefined;
  onChange: (schema: string) => void;
}

/** Edits the arguments of a tool: as a list, or as JSON Schema if the list cannot represent it. */
export function ToolParameters(p: Schema) {
  const { rows, changes, asSchema, turn, isListable } = useParameters(p);
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
              onChange={(part) => changes.edit(index, part)}
              onRemove={() => changes.remove(index)}
            />
          ))}
          <ListError>{p.error}</ListError>
        </>
      )}
      <div class="actions">
        {asSchema ? null : <SmallButton onClick={() => changes.add(NEW_PARAMETER)}>Add parameter</SmallButton>}
        {asSchema && !isListable ? (
          <span class="quiet">This schema is too complex for the list editor.</span>
        ) : (
          <SmallButton onClick={turn}>{asSchema ? 'Edit as a list' : 'Edit as JSON Schema'}</SmallButton>
        )}
      </div>
    </fieldset>
  );
}

const NEW_PARAMETER: ToolParameter = { name: '', type: 'string', description: '', required: true };

/** Keeps the rows of the list, which may be without a name and so not in the schema, and which of the editors is shown. */
function useParameters({ value, onChange }: Schema) {
  const listed = parametersFromSchema(value);
  const [rows, setRows] = useState<readonly ToolParameter[]>(listed ?? []);
  const [asSchema, setAsSchema] = useState(listed === undefined);
  const changes = rowChanges(rows, (next) => {
    setRows(next);
    onChange(schemaOf(next, value));
  });
  function turn(): void {
    if (asSchema) setRows(listed ?? []);
    else onChange(indented(value));
    setAsSchema(!asSchema);
  }
  return { rows, changes, asSchema, turn, isListable: listed !== undefined };
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
      <SmallButton label={`Remove parameter ${number}`} onClick={p.onRemove}>
        Remove
      </SmallButton>
    </div>
  );
}
