import { Context } from '@temporalio/activity';

const BEAT_MS = 10_000;

/** Runs an activity's work while sending heartbeats, which tell Temporal that the worker is alive. */
export async function whileBeating<T>(work: () => Promise<T>): Promise<T> {
  const context = Context.current();
  const timer = setInterval(() => context.heartbeat(), BEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
