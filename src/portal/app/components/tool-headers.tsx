import { useState } from 'preact/hooks';
import { TextField } from './fields';

type Changes = Readonly<Record<string, string | null>>;

/** Edits the secret headers of a tool. Stored headers can be replaced and removed, but not read. */
export function ToolHeaders(p: {
  /** Names of stored headers. */
  names: readonly string[];
  /** Whether stored headers stay unless the user changes them. They are lost if the tool's name or server changes. */
  kept: boolean;
  /** Values to store by header name; null removes a header. */
  changes: Changes;
  error?: string | undefined;
  onChange: (changes: Record<string, string | null>) => void;
}) {
  const { names, kept, changes } = p;
  const [name, setName] = useState('');
  const fresh = Object.keys(changes).filter((each) => !names.includes(each));
  const without = (gone: string) => Object.fromEntries(Object.entries(changes).filter(([each]) => each !== gone));
  const add = () => {
    const typed = name.trim();
    // Header names are case-insensitive.
    const present = [...names, ...fresh].find((each) => each.toLowerCase() === typed.toLowerCase()) ?? typed;
    if (typed !== '')
      p.onChange({ [present]: '', ...changes, ...(changes[present] === null ? { [present]: '' } : {}) });
    setName('');
  };
  return (
    <fieldset class="template">
      <legend>Secret headers</legend>
      <p class="hint">
        Such as Authorization. They are sent only to the server of this URL and never shown. Enter them again when the
        tool gets another name or its URL leads to another server.
      </p>
      {[...names, ...fresh].map((each) => {
        const value = changes[each] === undefined && !kept ? '' : changes[each];
        if (value === undefined || value === null) {
          const isRemoved = value === null;
          return (
            <div key={each} class="template-row">
              <span class="breakable">
                <strong>{each}</strong> {isRemoved ? 'will be removed' : 'is set'}
              </span>
              <button type="button" class="button button-small" onClick={() => p.onChange({ ...changes, [each]: '' })}>
                Replace {each}
              </button>
              {kept ? (
                <button
                  type="button"
                  class="button button-small"
                  onClick={() => p.onChange(isRemoved ? without(each) : { ...changes, [each]: null })}
                >
                  {isRemoved ? `Keep ${each}` : `Remove ${each}`}
                </button>
              ) : null}
            </div>
          );
        }
        return (
          <div key={each} class="secret-header">
            <TextField
              label={`Value of ${each}`}
              name={`header ${each}`}
              type="password"
              autocomplete="off"
              value={value}
              onChange={(text) => p.onChange({ ...changes, [each]: text })}
            />
            <button
              type="button"
              class="button button-small"
              onClick={() => p.onChange(names.includes(each) && !kept ? { ...changes, [each]: null } : without(each))}
            >
              {names.includes(each) && kept ? `Keep ${each} as it is` : `Leave out ${each}`}
            </button>
          </div>
        );
      })}
      <div
        class="secret-header"
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || !(event.target instanceof HTMLInputElement)) return;
          // The default action of Enter would submit the form without the header.
          event.preventDefault();
          add();
        }}
      >
        <TextField label="Header name" name="header name" placeholder="Authorization" value={name} onChange={setName} />
        <button type="button" class="button button-small" onClick={add}>
          Add header
        </button>
      </div>
      {p.error === undefined ? null : (
        <p class="field-error" role="alert">
          {p.error}
        </p>
      )}
    </fieldset>
  );
}
