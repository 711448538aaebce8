import { Context } from '@temporalio/activity';
import type { DialSlotRequest, DialSlots } from '../src/calls/steps/dial-slots.js';

/** Enforces the carrier's limit of calls per second across all workers. */
export function createPacingActivities(slots: DialSlots) {
  return {
    /**
     * Takes a dial slot. While none is free, the attempt fails with the delay after which Temporal retries it. A retry
     * adds no event to the history.
     */
    async takeDialSlot(input: DialSlotRequest): Promise<{ slotAt: number | null }> {
      const { attempt, scheduledTimestampMs, currentAttemptScheduledTimestampMs } = Context.current().info;
      // Temporal's clock measures the wait; the queue uses the database server's clock.
      const waitedMs = input.waitedMs + currentAttemptScheduledTimestampMs - scheduledTimestampMs;
      return slots.takeDialSlot({ ...input, waitedMs }, { again: attempt > 1 });
    },
  };
}
