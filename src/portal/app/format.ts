const DATE = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const DATE_OF_THIS_YEAR = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  hour: 'numeric',
  minute: '2-digit',
  second: '2-digit',
});
const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });

/** Formats a time in the viewer's time zone. The year is left out if it is the current one. */
export function localTime(iso: string): string {
  const at = new Date(iso);
  return (at.getFullYear() === new Date().getFullYear() ? DATE_OF_THIS_YEAR : DATE).format(at);
}
export const localClock = (iso: string) => CLOCK.format(new Date(iso));
export const utcTime = (iso: string) => `${new Date(iso).toISOString().replace('T', ' ').slice(0, 19)} UTC`;

/**
 * Formats USD with cents. Uses 4 or 6 decimals only if the amount needs them.
 * @param least the fewest decimals: 4 in a column of costs, so that their points are below each other
 */
export function formatDollars(amount: number, least: 2 | 4 = 2): string {
  const micros = Math.round(amount * 1e6);
  const digits = Math.max(least, micros % 10_000 === 0 ? 2 : micros % 100 === 0 ? 4 : 6);
  return new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD', minimumFractionDigits: digits }).format(
    amount,
  );
}

/** Formats seconds as minutes and seconds: 75 becomes `1:15`. */
export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}

/** Formats seconds with units: 90 becomes `1 min 30 s`. */
export function durationInWords(seconds: number): string {
  const whole = Math.round(seconds);
  const parts = [
    [Math.floor(whole / 3_600), 'h'],
    [Math.floor((whole % 3_600) / 60), 'min'],
    [whole % 60, 's'],
  ] as const;
  const shown = parts.filter(([amount]) => amount > 0).map(([amount, unit]) => `${amount} ${unit}`);
  return shown.length === 0 ? '0 s' : shown.join(' ');
}
