const DATE = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });

export const localTime = (iso: string) => DATE.format(new Date(iso));
export const localClock = (iso: string) => CLOCK.format(new Date(iso));
export const utcTime = (iso: string) => `${new Date(iso).toISOString().replace('T', ' ').slice(0, 19)} UTC`;

/** Formats USD with cents. Uses 4 or 6 decimals only if the amount needs them. */
export function formatDollars(amount: number): string {
  const micros = Math.round(amount * 1e6);
  const digits = micros % 10_000 === 0 ? 2 : micros % 100 === 0 ? 4 : 6;
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

/** Formats a code as words: `callee_hangup` becomes `callee hangup`. */
export const words = (code: string) => code.replaceAll('_', ' ');
