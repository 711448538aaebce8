import type { CallSummary } from '../../../../calls/views/schemas.js';
import type { IconName } from '../../components/icon';
import { localTime } from '../../format';
import { callName, labelOf } from '../../labels';

/** How the dialogs act on the page. */
export interface DialogProps {
  /** Closes the dialog and opens a page of the portal. @param path starts with `/portal` */
  onOpen: (path: string) => void;
  onShortcuts: () => void;
  onClose: () => void;
}

/** A result of the command palette. */
export interface Entry {
  id: string;
  icon: IconName;
  name: string;
  /** Further text, such as the time of a call. */
  detail?: string;
  run: () => void;
}

/** Results of one kind. */
export interface Group {
  name: string;
  entries: readonly Entry[];
}

/** Returns the name and the details of a call as a result. */
export function callTexts(call: CallSummary): { name: string; detail: string } {
  return { name: callName(call), detail: `${labelOf(call.status)} · ${localTime(call.created_at)}` };
}
