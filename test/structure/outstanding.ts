/** Violations of the rules in this folder that are accepted for now. Lines may be removed, but not added. */
export const OUTSTANDING: readonly string[] = [];
