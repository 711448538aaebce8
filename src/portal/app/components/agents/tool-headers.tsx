import { useState } from 'preact/hooks';
import { SmallButton } from '../buttons';
import { TextField } from '../fields';
import {
  enteredValue,
  headerNames,
  withHeader,
  withoutChange,
  type EditedHeaders,
  type HeaderChanges,
} from './header-changes';
import { ListError } from './rows';

/** Edits the secret headers of a tool. Stored headers can be replaced and removed, but not read. */
export function ToolHeaders(
  p: EditedHeaders & { error?: string | undefined; onChange: (changes: HeaderChanges) => void },
) {
  return (
    <fieldset class="template">
      <legend>Secret headers</legend>
      <p class="hint">
        Such as Authorization. They are sent only to the server of this URL and never shown. Enter them again when the
        tool gets another name or its URL leads to another server. Test calls of a live agent do not send them.
      </p>
      {headerNames(p).map((name) => (
        <HeaderRow key={name} name={name} of={p} onChange={p.onChange} />
      ))}
      <NewHeader onAdd={(typed) => p.onChange(withHeader(p, typed))} />
      <ListError>{p.error}</ListError>
    </fieldset>
  );
}

/**
 * Shows whether a stored header stays, or asks for the value of a header. One component renders both, so that the focus
 * stays on the button that switches between them.
 */
function HeaderRow(p: { name: string; of: EditedHeaders; onChange: (changes: HeaderChanges) => void }) {
  const { name, onChange } = p;
  const { names, kept, changes } = p.of;
  const value = enteredValue(p.of, name);
  if (value === undefined || value === null) {
    const isRemoved = value === null;
    return (
      <div class="template-row">
        <span class="breakable">
          <strong>{name}</strong> {isRemoved ? 'will be removed' : 'is set'}
        </span>
        <SmallButton onClick={() => onChange({ ...changes, [name]: '' })}>{`Replace ${name}`}</SmallButton>
        {kept ? (
          <SmallButton
            onClick={() => onChange(isRemoved ? withoutChange(changes, name) : { ...changes, [name]: null })}
          >
            {isRemoved ? `Keep ${name}` : `Remove ${name}`}
          </SmallButton>
        ) : null}
      </div>
    );
  }
  const isStored = names.includes(name);
  return (
    <div class="secret-header">
      <TextField
        label={`Value of ${name}`}
        name={`header ${name}`}
        type="password"
        autocomplete="off"
        value={value}
        onChange={(text) => onChange({ ...changes, [name]: text })}
      />
      <SmallButton
        onClick={() => onChange(isStored && !kept ? { ...changes, [name]: null } : withoutChange(changes, name))}
      >
        {isStored && kept ? `Keep ${name} as it is` : `Leave out ${name}`}
      </SmallButton>
    </div>
  );
}

function NewHeader({ onAdd }: { onAdd: (name: string) => void }) {
  const [name, setName] = useState('');
  const add = () => {
    if (name.trim() !== '') onAdd(name.trim());
    setName('');
  };
  return (
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
      <SmallButton onClick={add}>Add header</SmallButton>
    </div>
  );
}
