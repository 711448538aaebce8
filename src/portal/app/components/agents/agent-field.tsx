import type { ComponentChildren } from 'preact';
import { AGENT_FIELDS, type AgentFieldName } from '../../../../agents/agent-definition.js';
import type { FieldDefinition } from '../../../../agents/fields/field-definition.js';
import type { AgentForm } from './agent-form';
import { labelOf } from '../../labels';
import type { useForm } from '../../use-form';
import { CheckField, CheckGroup, SelectField, TextArea, TextField } from '../fields';

/** Renders an agent field with the control that fits its kind. */
export function AgentField(p: {
  name: Exclude<AgentFieldName, 'tools' | 'pronunciations'>;
  form: ReturnType<typeof useForm<AgentForm>>;
  /** Hint to show instead of the one in the field's definition. */
  hint?: ComponentChildren;
  rows?: number;
  placeholder?: string;
  /** Options of a select field, when they depend on the service's configuration. */
  options?: readonly { value: string; label: string }[];
}) {
  const definition: FieldDefinition = AGENT_FIELDS[p.name];
  const { label } = definition.form;
  const hint = p.hint ?? definition.form.hint;
  const { name, value, error } = p.form.field(p.name);
  const change = (next: string | boolean | readonly string[]) => p.form.set({ [name]: next });
  if (definition.kind === 'yesNo') {
    return <CheckField label={label} hint={hint} name={name} value={value === true} error={error} onChange={change} />;
  }
  if (definition.kind === 'choices') {
    const options = definition.of.map((each) => ({ value: each, label: labelOf(each) }));
    const chosen = Array.isArray(value) ? value.map(String) : [];
    return <CheckGroup {...{ label, hint, name, error, options }} value={chosen} onChange={change} />;
  }
  const required = definition.presence === 'given';
  const text = { label, hint, name, value: String(value), error, required, onChange: change };
  switch (definition.kind) {
    case 'text':
    case 'phoneNumbers':
    case 'terms':
      return <TextArea {...text} rows={p.rows ?? 3} placeholder={p.placeholder ?? ''} />;
    case 'seconds':
      return <TextField {...text} type="number" min={definition.min} max={definition.max} />;
    case 'number':
      return (
        <TextField
          {...text}
          type="number"
          min={definition.min}
          max={definition.max}
          step={definition.whole === true ? 1 : 0.05}
        />
      );
    case 'label':
    case 'providerId':
      return <TextField {...text} />;
    case 'url':
      return <TextField {...text} type="url" placeholder={p.placeholder ?? ''} />;
    default:
      return <SelectField {...text} options={p.options ?? optionsOf(definition)} />;
  }
}

/** The options of a choice. An empty value stands for the default of the service. */
function optionsOf(field: FieldDefinition): { value: string; label: string }[] {
  if (field.kind !== 'choice') return [];
  const choices = field.of.map((each) => ({ value: each, label: labelOf(each) }));
  return field.absentMeans === undefined ? [{ value: '', label: 'Default' }, ...choices] : choices;
}
