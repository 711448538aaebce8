/** Values to store by header name; null removes a header. */
export type HeaderChanges = Record<string, string | null>;

/** The secret headers of a tool in the editor. */
export interface EditedHeaders {
  /** Names of stored headers. */
  names: readonly string[];
  /** Whether stored headers stay unless the user changes them. They are lost if the tool's name or server changes. */
  kept: boolean;
  changes: HeaderChanges;
}

/** Returns the names of stored and added headers. */
export function headerNames({ names, changes }: EditedHeaders): string[] {
  return [...names, ...Object.keys(changes).filter((each) => !names.includes(each))];
}

/** Returns the entered value of a header; undefined if the stored one stays, null if the header will be removed. */
export function enteredValue({ kept, changes }: EditedHeaders, name: string): string | null | undefined {
  return changes[name] === undefined && !kept ? '' : changes[name];
}

/** Adds a header without a value yet. Leaves a value that was entered for it before. */
export function withHeader(headers: EditedHeaders, typed: string): HeaderChanges {
  const { changes } = headers;
  // Header names are case-insensitive.
  const name = headerNames(headers).find((each) => each.toLowerCase() === typed.toLowerCase()) ?? typed;
  return { [name]: '', ...changes, ...(changes[name] === null ? { [name]: '' } : {}) };
}

/** Reverts the change of a header: a stored one stays, and an added one is left out. */
export function withoutChange(changes: HeaderChanges, name: string): HeaderChanges {
  return Object.fromEntries(Object.entries(changes).filter(([each]) => each !== name));
}
