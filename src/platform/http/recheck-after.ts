import type { ApiContext } from './context.js';

/**
 * Completes a change that grants a right: a key, an invitation, a role. Checks the sender's permission again after the
 * change. If it was revoked meanwhile, for example by a new password, the change is reverted. Pass this promise to
 * `withDeadline` as a whole, so that it completes even if the response is late.
 * @param undo reverts the change
 * @throws ServiceError UNAUTHORIZED, FORBIDDEN or SERVICE_UNAVAILABLE, after reverting the change
 */
export async function recheckAfter<T>(
  ctx: ApiContext,
  change: Promise<T>,
  undo: (made: T) => Promise<unknown>,
): Promise<T> {
  const made = await change;
  try {
    await ctx.state.recheck?.();
  } catch (error) {
    await undo(made);
    throw error;
  }
  return made;
}
