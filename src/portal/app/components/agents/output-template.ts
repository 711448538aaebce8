/** A field of the template of the data to extract, as the editor shows it. */
export interface OutputField {
  name: string;
  kind: 'text' | 'yes-no' | 'choices' | 'number';
  /** The allowed values of the kind `choices` as typed, separated by commas or `|`. */
  choices: string;
}

/** The allowed values of a field of the kind `choices`. With a `|`, commas belong to the values. */
export function choicesOf({ choices }: Pick<OutputField, 'choices'>): string[] {
  return choices
    .split(choices.includes('|') ? '|' : ',')
    .map((choice) => choice.trim())
    .filter((choice) => choice !== '');
}

/** Converts a template, a JSON object encoded as a string, to its fields. */
export function outputFieldsOf(json: string): OutputField[] {
  try {
    const template = JSON.parse(json === '' ? '{}' : json) as Record<string, unknown>;
    return Object.entries(template).map(([name, value]) => {
      if (typeof value === 'boolean') return { name, kind: 'yes-no', choices: '' };
      if (typeof value === 'number') return { name, kind: 'number', choices: '' };
      if (typeof value === 'string' && value.includes('|'))
        return { name, kind: 'choices', choices: value.includes(',') ? value : value.replaceAll('|', ', ') };
      return { name, kind: 'text', choices: '' };
    });
  } catch {
    return [];
  }
}

/** The choices as a template has them. Fewer than two have a bar, too, so that the service rejects them. */
function choiceText(field: OutputField): string {
  const choices = choicesOf(field);
  return choices.length < 2 ? `${choices.join('')}|` : choices.join('|');
}

/** Converts fields to a template. Leaves out fields that have no name; without fields the template is empty. */
export function templateOf(fields: readonly OutputField[]): string {
  const named = fields.filter(({ name }) => name.trim() !== '');
  if (named.length === 0) return '';
  const placeholder = (field: OutputField) =>
    ({ text: null, 'yes-no': false, number: 0, choices: choiceText(field) })[field.kind];
  return JSON.stringify(Object.fromEntries(named.map((field) => [field.name.trim(), placeholder(field)])));
}
