import { Context } from '@temporalio/activity';

const BEAT_MS = 10_000;

/** Runs work of an activity and tells Temporal meanwhile that its worker lives. */
export async function whileBeating<T>(work: () => Promise<T>): Promise<T> {
  const context = Context.current();
  const timer = setInterval(() => context.heartbeat(), BEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
