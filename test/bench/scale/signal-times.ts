import type { Client } from '@temporalio/client';

/** The part of a history event that the times of signals need. */
export interface TimedEvent {
  /** In ms since the epoch. */
  at: number;
  /** The name of the signal that the event reports. */
  signal?: string;
  /** Whether the event completes a workflow task, and with it the handling of all signals before it. */
  completesTask?: boolean;
}

/** A signal in a history. */
export interface SignalTime {
  signal: string;
  receivedAt: number;
  handledAt: number;
}

/**
 * Pairs each signal with the workflow task that handled it: the next that was completed. The task includes the local
 * activities that the signal causes, such as the settlement. Leaves out signals that were not handled yet.
 */
export function signalTimes(events: readonly TimedEvent[]): SignalTime[] {
  return events.flatMap(({ signal, at }, index) => {
    if (signal === undefined) return [];
    const handled = events.slice(index + 1).find(({ completesTask }) => completesTask);
    return handled === undefined ? [] : [{ signal, receivedAt: at, handledAt: handled.at }];
  });
}

/** Reads a call's history, and returns its events in their order. */
export async function readEvents(client: Client, callId: string): Promise<TimedEvent[]> {
  const { events } = await client.workflow.getHandle(callId).fetchHistory();
  return (events ?? []).map((event) => {
    const { seconds, nanos } = event.eventTime ?? {};
    const signal = event.workflowExecutionSignaledEventAttributes?.signalName;
    return {
      at: Number(seconds ?? 0) * 1_000 + (nanos ?? 0) / 1e6,
      ...(typeof signal === 'string' && { signal }),
      ...(event.workflowTaskCompletedEventAttributes && { completesTask: true }),
    };
  });
}
