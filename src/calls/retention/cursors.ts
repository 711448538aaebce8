import type { CursorDocument } from '../reconciliation/model.js';
import type { CallClass } from './expire-call.js';

/** The name of the cursor that says how far the retention of a class has come. */
export const cursorOf = (which: CallClass) => `retention:${which}`;

/** Filter for requests after the cursor: later ones, or equally old ones with a greater id. */
export function afterCursor(cursor: CursorDocument | null) {
  if (!cursor?.at) return {};
  const { at, id } = cursor;
  return { $or: [{ createdAt: { $gt: at } }, { createdAt: at, _id: { $gt: id } }] };
}
