import { labelOf } from '../labels';
import { SelectField, TextField } from './fields';

/** The option of a filter that is not set. */
export const ANY = { value: '', label: 'Any' };

/** Returns the options of a filter by codes of the API. */
export const anyOf = (codes: readonly string[]) => [ANY, ...codes.map((value) => ({ value, label: labelOf(value) }))];

interface FilterProps<T> {
  filters: T;
  onChange: (change: Partial<T>) => void;
}

/** Renders one filter of a list as a select field. */
export function FilterSelect<Name extends string, T extends Record<Name, string>>(
  p: FilterProps<T> & { label: string; name: Name; options: readonly { value: string; label: string }[] },
) {
  return (
    <SelectField
      label={p.label}
      name={p.name}
      value={p.filters[p.name]}
      options={p.options}
      onChange={(value) => p.onChange({ [p.name]: value } as Partial<T>)}
    />
  );
}

interface Period {
  /** Days in the format of date inputs; empty if not set. */
  from: string;
  to: string;
}

/** Renders the date range of a list. */
export function PeriodFields({ filters, onChange }: FilterProps<Period>) {
  return (
    <>
      <TextField label="From" name="from" type="date" value={filters.from} onChange={(from) => onChange({ from })} />
      <TextField label="To" name="to" type="date" value={filters.to} onChange={(to) => onChange({ to })} />
    </>
  );
}
