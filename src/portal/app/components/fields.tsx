import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

interface FieldProps {
  label: string;
  hint?: ComponentChildren;
  error?: string | undefined;
  required?: boolean | undefined;
  children: (attributes: {
    id: string;
    required?: true;
    'aria-invalid'?: 'true';
    'aria-describedby'?: string;
  }) => ComponentChildren;
}

/** Renders a label, a control, a hint and the server's error message. */
export function Field({ label, hint, error, required, children }: FieldProps) {
  const id = useId();
  const described = [hint === undefined ? '' : `${id}-hint`, error === undefined ? '' : `${id}-error`].filter(Boolean);
  return (
    <div class="field">
      <label for={id}>
        {label}
        {/* Screen readers know it from the attribute of the control. */}
        {required === true ? (
          <span class="quiet" aria-hidden="true">
            {' '}
            (required)
          </span>
        ) : null}
      </label>
      {children({
        id,
        ...(required === true ? { required } : {}),
        ...(error === undefined ? {} : { 'aria-invalid': 'true' as const }),
        ...(described.length === 0 ? {} : { 'aria-describedby': described.join(' ') }),
      })}
      {hint === undefined ? null : (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {error === undefined ? null : (
        <p class="field-error" id={`${id}-error`}>
          {error}
        </p>
      )}
    </div>
  );
}

interface ControlProps<T> {
  label: string;
  name: string;
  value: T;
  error?: string | undefined;
  hint?: ComponentChildren;
  required?: boolean | undefined;
  onChange: (value: T) => void;
}

export function TextField(
  p: ControlProps<string> & {
    type?: 'text' | 'email' | 'password' | 'tel' | 'url' | 'number' | 'date';
    autocomplete?: string;
    placeholder?: string;
    min?: number;
    max?: number;
    step?: number;
  },
) {
  return (
    <Field label={p.label} hint={p.hint} error={p.error} required={p.required}>
      {(attributes) => (
        <input
          {...attributes}
          name={p.name}
          // Preact's types require a literal here. All our types are text inputs.
          type={(p.type ?? 'text') as 'text'}
          value={p.value}
          autocomplete={p.autocomplete ?? 'off'}
          placeholder={p.placeholder ?? ''}
          {...(p.min === undefined ? {} : { min: p.min })}
          {...(p.max === undefined ? {} : { max: p.max })}
          {...(p.step === undefined ? {} : { step: p.step })}
          onInput={(event) => p.onChange(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

/** A field for a password that is chosen now. */
export function NewPasswordField({ hint = '', ...field }: ControlProps<string> & { hint?: string }) {
  const rule = 'At least 12 characters.';
  return <TextField type="password" autocomplete="new-password" hint={`${rule} ${hint}`.trim()} {...field} />;
}

export function TextArea(p: ControlProps<string> & { rows?: number; monospace?: boolean; placeholder?: string }) {
  return (
    <Field label={p.label} hint={p.hint} error={p.error} required={p.required}>
      {(attributes) => (
        <textarea
          {...attributes}
          name={p.name}
          rows={p.rows ?? 6}
          class={p.monospace ? 'mono' : ''}
          placeholder={p.placeholder ?? ''}
          value={p.value}
          onInput={(event) => p.onChange(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

export function SelectField(p: ControlProps<string> & { options: readonly { value: string; label: string }[] }) {
  return (
    <Field label={p.label} hint={p.hint} error={p.error}>
      {(attributes) => (
        <select
          {...attributes}
          name={p.name}
          value={p.value}
          onChange={(event) => p.onChange(event.currentTarget.value)}
        >
          {p.options.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

export function CheckField(p: ControlProps<boolean>) {
  const id = useId();
  const ofError = p.error === undefined ? {} : { 'aria-invalid': 'true' as const, 'aria-describedby': `${id}-error` };
  return (
    <div class="field field-check">
      <input
        id={id}
        {...ofError}
        name={p.name}
        type="checkbox"
        checked={p.value}
        onChange={(event) => p.onChange(event.currentTarget.checked)}
      />
      <label for={id}>{p.label}</label>
      {p.hint === undefined ? null : <p class="hint">{p.hint}</p>}
      {p.error === undefined ? null : (
        <p class="field-error" id={`${id}-error`}>
          {p.error}
        </p>
      )}
    </div>
  );
}

/** A list of check boxes. */
export function CheckGroup(
  p: ControlProps<readonly string[]> & { options: readonly { value: string; label: string }[] },
) {
  const id = useId();
  const described = [p.hint === undefined ? '' : `${id}-hint`, p.error === undefined ? '' : `${id}-error`];
  const change = (option: string, isChosen: boolean) =>
    p.onChange(
      p.options.map(({ value }) => value).filter((each) => (each === option ? isChosen : p.value.includes(each))),
    );
  return (
    <fieldset class="field check-group" aria-describedby={described.filter(Boolean).join(' ')}>
      <legend>{p.label}</legend>
      {p.options.map(({ value, label }) => (
        <label key={value}>
          <input
            name={p.name}
            type="checkbox"
            value={value}
            checked={p.value.includes(value)}
            {...(p.error === undefined ? {} : { 'aria-invalid': 'true' as const })}
            onChange={(event) => change(value, event.currentTarget.checked)}
          />
          {label}
        </label>
      ))}
      {p.hint === undefined ? null : (
        <p class="hint" id={`${id}-hint`}>
          {p.hint}
        </p>
      )}
      {p.error === undefined ? null : (
        <p class="field-error" id={`${id}-error`}>
          {p.error}
        </p>
      )}
    </fieldset>
  );
}

export function SubmitButton({ busy, children }: { busy: boolean; children: ComponentChildren }) {
  return (
    <button type="submit" class="button button-main" aria-disabled={busy}>
      {busy ? 'Working…' : children}
    </button>
  );
}
