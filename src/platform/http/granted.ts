import type { ApiContext } from './context.js';

/**
 * Completes a change that grants a right: a key, an invitation, a role. Checks the sender's permission again after the
 * change, so that a concurrent revocation, removal or password change wins. Pass the whole promise to `within`, so that
 * it completes even if the response is late.
 * @param undo reverts the change
 * @throws ServiceError UNAUTHORIZED, FORBIDDEN or SERVICE_UNAVAILABLE, after reverting the change
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
