/**
 * How long Temporal may take to delete a closed workflow. It records every 30 s which tasks of workflows are done; before that it
 * does not delete, and it looks again after 3 s and then half as long again each time (`ErrDependencyTaskNotCompleted` of
 * Temporal Server 1.29).
 */
export const DELETED_WITHIN_MS = 120_000;
