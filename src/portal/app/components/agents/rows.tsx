/** Returns the changes that buttons and inputs make to a list of rows. @param change receives the next list */
export function rowChanges<T>(rows: readonly T[], change: (next: T[]) => void) {
  return {
    add: (row: T) => change([...rows, row]),
    edit: (index: number, part: Partial<T>) =>
      change(rows.map((row, at) => (at === index ? { ...row, ...part } : row))),
    remove: (index: number) => change(rows.filter((_, at) => at !== index)),
  };
}

/** The server's error message about a whole list. */
export function ListError({ children }: { children: string | undefined }) {
  if (children === undefined) return null;
  return (
    <p class="field-error" role="alert">
      {children}
    </p>
  );
}
