import { TextField } from './fields';

interface Period {
  /** Days in the format of date inputs; empty if not set. */
  from: string;
  to: string;
}

/** Renders the date range of a list. */
export function PeriodFields({ period, onChange }: { period: Period; onChange: (change: Partial<Period>) => void }) {
  return (
    <>
      <TextField label="From" name="from" type="date" value={period.from} onChange={(from) => onChange({ from })} />
      <TextField label="To" name="to" type="date" value={period.to} onChange={(to) => onChange({ to })} />
    </>
  );
}
