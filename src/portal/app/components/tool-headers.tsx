import { useState } from 'preact/hooks';
import { TextField } from './fields';

type Changes = Readonly<Record<string, string | null>>;

/** The secret headers of a tool. Those that are stored can be replaced and removed, but not read. */
export function ToolHeaders(p: {
  /** Stored ones. */
  names: readonly string[];
  /** Values to store; null removes one. */
  changes: Changes;
  error?: string | undefined;
  onChange: (changes: Record<string, string | null>) => void;
}) {
  const { names, changes } = p;
  const [name, setName] = useState('');
  const fresh = Object.keys(changes).filter((each) => !names.includes(each));
  const without = (gone: string) => Object.fromEntries(Object.entries(changes).filter(([each]) => each !== gone));
  const add = () => {
    if (name.trim() !== '') p.onChange({ ...changes, [name.trim()]: '' });
    setName('');
  };
  return (
    <div>
      <p class="hint">
        Secret headers, such as Authorization. They go to the server of this URL only and are shown to nobody; give them
        again when the URL leads to another server.
      </p>
      {[...names, ...fresh].map((each) => {
        const value = changes[each];
        if (value === undefined || value === null) {
          const isRemoved = value === null;
          return (
            <p key={each}>
              <strong>{each}</strong> {isRemoved ? 'will be removed' : 'is set'}{' '}
              <button type="button" class="button button-small" onClick={() => p.onChange({ ...changes, [each]: '' })}>
                Replace {each}
              </button>{' '}
              <button
                type="button"
                class="button button-small"
                onClick={() => p.onChange(isRemoved ? without(each) : { ...changes, [each]: null })}
              >
                {isRemoved ? `Keep ${each}` : `Remove ${each}`}
              </button>
            </p>
          );
        }
        return (
          <div key={each}>
            <TextField
              label={`Value of ${each}`}
              name={`header ${each}`}
              type="password"
              autocomplete="off"
              value={value}
              onChange={(text) => p.onChange({ ...changes, [each]: text })}
            />
            <button type="button" class="button button-small" onClick={() => p.onChange(without(each))}>
              {names.includes(each) ? `Keep ${each} as it is` : `Leave out ${each}`}
            </button>
          </div>
        );
      })}
      <TextField
        label="New secret header"
        name="header name"
        placeholder="Authorization"
        value={name}
        onChange={setName}
      />
      <button type="button" class="button button-small" onClick={add}>
        Add the header
      </button>
      {p.error === undefined ? null : (
        <p class="field-error" role="alert">
          {p.error}
        </p>
      )}
    </div>
  );
}
