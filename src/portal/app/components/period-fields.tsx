import { TextField } from './fields';

interface Period {
  /** Days, as date inputs give them; empty for none. */
  from: string;
  to: string;
}

/** The days a list is about. */
export function PeriodFields({ period, onChange }: { period: Period; onChange: (change: Partial<Period>) => void }) {
  return (
    <>
      <TextField label="From" name="from" type="date" value={period.from} onChange={(from) => onChange({ from })} />
      <TextField label="Until" name="to" type="date" value={period.to} onChange={(to) => onChange({ to })} />
    </>
  );
}
