import { Context } from '@temporalio/activity';

const HEARTBEAT_INTERVAL_MS = 10_000;

/** Runs an activity's work while sending heartbeats, which tell Temporal that the worker is alive. */
export async function withHeartbeats<T>(work: () => Promise<T>): Promise<T> {
  const context = Context.current();
  const timer = setInterval(() => context.heartbeat(), HEARTBEAT_INTERVAL_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
