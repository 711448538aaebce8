import { Context } from '@temporalio/activity';
import { NotYetHeld } from '../src/billing/errors.js';
import type { Extension, HoldExtensions } from '../src/calls/steps/hold-extension.js';

/** Activities that hold money so that a call in progress can continue. */
export function createExtensionActivities(extensions: HoldExtensions) {
  return {
    /**
     * Holds the next window.
     *
     * With `holdInMs`, the first attempt only writes the forecast and fails with that delay, and Temporal retries after
     * it. The second attempt holds the window. If the worker crashed before it reported the delay, Temporal retries
     * sooner, and the window is held a few seconds early. A retry adds no history event.
     * @param input.holdInMs delay in ms before the window is held; if absent, it is held at once
     */
    async extendHold(input: Extension & { holdInMs?: number }) {
      const { attempt, scheduledTimestampMs } = Context.current().info;
      if (input.holdInMs !== undefined && attempt === 1) {
        // A failed forecast must not prevent the hold.
        await extensions.showForecast(input).catch(() => undefined);
        // Subtract the time that the activity waited for a worker. A wrong clock can only make the hold earlier.
        throw new NotYetHeld(input.holdInMs - Math.max(0, Date.now() - scheduledTimestampMs));
      }
      return extensions.extendHold(input);
    },
  };
}
