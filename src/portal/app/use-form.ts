import { useRef, useState } from 'preact/hooks';
import { ApiError } from './api';
import { useUnsaved } from './shell/unsaved-changes';

/**
 * Manages a form's values and the server's errors. If sending fails, the values stay in the form. Before the user leaves
 * the page with values that were not sent, asks whether to lose them.
 * @param send rejects with an ApiError, whose field errors are shown next to the fields
 * @param options.isGuarded false for forms with little input, which is quickly entered again
 */
export function useForm<T extends Record<string, unknown>>(
  first: T,
  send: (values: T) => Promise<unknown>,
  { isGuarded = true }: { isGuarded?: boolean } = {},
) {
  const [values, setValues] = useState(first);
  const [saved, setSaved] = useState(first);
  /** Values that `reset` has set since the form was last sent. */
  const resets = useRef<Partial<T>>({});
  const [errors, setErrors] = useState<Readonly<Record<string, string>>>({});
  const [failure, setFailure] = useState<string>();
  const [busy, setBusy] = useState(false);

  useUnsaved(isGuarded && JSON.stringify(values) !== JSON.stringify(saved));

  /** Whether a name is that of a field, or of a path inside a field, such as `tools.0.url`. */
  const isField = (name: string) => (name.split('.')[0] ?? '') in values;

  async function submit(event?: Event): Promise<void> {
    event?.preventDefault();
    if (busy) return;
    setBusy(true);
    setErrors({});
    setFailure(undefined);
    resets.current = {};
    try {
      await send(values);
      setSaved({ ...values, ...resets.current });
    } catch (error) {
      const known = error instanceof ApiError ? fieldsOf(error) : {};
      const own = Object.fromEntries(
        Object.entries(known).flatMap(([name, text]) => (isField(name) ? [[name, withoutName(name, text)]] : [])),
      );
      setErrors(own);
      if (Object.keys(own).length === 0) setFailure(error instanceof Error ? error.message : String(error));
      requestAnimationFrame(() => document.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
    } finally {
      setBusy(false);
    }
  }

  return {
    values,
    errors,
    failure,
    busy,
    submit,
    set: (change: Partial<T>) => setValues((before) => ({ ...before, ...change })),
    /** Sets values that need no saving, such as empty ones after sending. */
    reset(change: Partial<T>) {
      setValues((before) => ({ ...before, ...change }));
      setSaved((before) => ({ ...before, ...change }));
      resets.current = { ...resets.current, ...change };
    },
    /** Returns the props of a field component. */
    field: <K extends keyof T & string>(name: K) => ({
      name,
      value: values[name],
      error: errors[name],
      onChange: (value: T[K]) => setValues((before) => ({ ...before, [name]: value })),
    }),
  };
}

/** Returns the messages by field. An error without a list of fields starts with the name of its field. */
function fieldsOf(error: ApiError): Readonly<Record<string, string>> {
  if (Object.keys(error.fields).length > 0) return error.fields;
  const [, name] = /^([a-z][a-z_]*)[: ]/.exec(error.message) ?? [];
  return name === undefined ? {} : { [name]: error.message };
}

/** Removes the field's API name from the start of a message, because the label already shows the name. */
function withoutName(name: string, sentence: string): string {
  const own = name.split('.').at(-1) ?? name;
  const rest = sentence.startsWith(own) ? sentence.slice(own.length).replace(/^:? /, '') : sentence;
  return rest.charAt(0).toUpperCase() + rest.slice(1);
}
