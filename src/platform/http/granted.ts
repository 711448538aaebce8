import type { ApiContext } from './context.js';

/**
 * The result of a change that gives somebody a right: a key, an invitation, a role. Its sender is looked at once more after
 * the change, so that of a revocation, a removal or a new password at the same moment, the request in flight loses. Handed
 * to `within` as a whole, so that it completes also when the answer is late.
 * @param undo takes the change back
 * @throws ServiceError UNAUTHORIZED, FORBIDDEN, SERVICE_UNAVAILABLE, with the change taken back
 */
export async function granted<T>(ctx: ApiContext, change: Promise<T>, undo: (made: T) => Promise<unknown>): Promise<T> {
  const made = await change;
  try {
    await ctx.state.recheck?.();
  } catch (error) {
    await undo(made);
    throw error;
  }
  return made;
}
