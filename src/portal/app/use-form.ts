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

  const isChanged = JSON.stringify(values) !== JSON.stringify(saved);
  useUnsaved(isGuarded && isChanged);

  /** Whether a name is that of a field, or of a path inside a field, such as `tools.0.url`. */
  const isField = (name: string) => (name.split('.')[0] ?? '') in values;

  function clearErrors(): void {
    setErrors({});
    setFailure(undefined);
  }

  function show(error: unknown): void {
    const { own, others } = messagesOf(error, isField);
    setErrors(own);
    setFailure(others.length === 0 ? undefined : others.join(' '));
    requestAnimationFrame(focusFirstError);
  }

  async function submit(event?: Event): Promise<void> {
    event?.preventDefault();
    if (busy) return;
    setBusy(true);
    clearErrors();
    resets.current = {};
    try {
      await send(values);
      setSaved({ ...values, ...resets.current });
    } catch (error) {
      show(error);
    } finally {
      setBusy(false);
    }
  }

  return {
    values,
    errors,
    failure,
    busy,
    /** Whether the form has values that were not sent. */
    isChanged,
    submit,
    /** Shows the faults of another request with these values. */
    show,
    clearErrors,
    /** Restores the values that were sent last. */
    discard() {
      setValues(saved);
      clearErrors();
    },
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

/**
 * Sorts the messages of an error: those of the form's fields by name, and the others, which are shown above the form.
 * The fault of `tools.0.url` is also that of `tools` and `tools.0`.
 */
function messagesOf(error: unknown, isField: (name: string) => boolean) {
  const own: Record<string, string> = {};
  const others: string[] = [];
  const faults = error instanceof ApiError ? error.faults : [];
  for (const { param, message } of faults) {
    // A message about the whole request may begin with the name of the field.
    const name = param === 'request' ? (/^([a-z][a-z_]*)[: ]/.exec(message)?.[1] ?? param) : param;
    if (!isField(name)) others.push(message);
    else {
      const parts = name.split('.');
      for (const index of parts.keys()) own[parts.slice(0, index + 1).join('.')] ??= withoutName(name, message);
    }
  }
  if (faults.length === 0) others.push(error instanceof Error ? error.message : String(error));
  return { own, others };
}

/** Moves the focus to the first field with an error. */
function focusFirstError(): void {
  focusField(document.querySelector<HTMLElement>('[aria-invalid="true"]'));
}

/** Moves the focus to a field, and opens the sections that hide it. */
export function focusField(field: HTMLElement | null): void {
  for (let section = field?.closest('details'); section; section = section.parentElement?.closest('details')) {
    section.open = true;
  }
  field?.focus();
}

/** Removes the field's API name from the start of a message, because the label already shows the name. */
function withoutName(name: string, sentence: string): string {
  const [list = '', ...inside] = name.split('.');
  const own = inside.at(-1) ?? list;
  const text = inside.length > 0 ? sentence.replace(`${list}: `, '') : sentence;
  const rest = text.startsWith(own) ? text.slice(own.length).replace(/^:? /, '') : text;
  return rest.charAt(0).toUpperCase() + rest.slice(1);
}
