/**
 * LLM cost covered by one reply, in micro-USD: 80% of what a call is billed in the time after which one more reply is
 * available.
 */
const INCLUDED_PER_REPLY = 5_000;
/** LLM cost covered at the start, and the most that can be saved up: one request with the longest prompt. */
const MAX_INCLUDED = 40_000;

export type ModelCharges = ReturnType<typeof createModelCharges>;

/**
 * Converts the cost of requests to the LLM into replies. A call with a long prompt, chat history or tool results may
 * make fewer replies, so that the cost of the LLM stays below what the call is billed.
 */
export function createModelCharges() {
  let included = MAX_INCLUDED;
  return {
    replyBegun(): void {
      included = Math.min(MAX_INCLUDED, included + INCLUDED_PER_REPLY);
    },
    /**
     * @param micros cost of a request in micro-USD
     * @returns the number of further replies that the request uses up; may be fractional
     */
    repliesFor(micros: number): number {
      included -= micros;
      if (included >= 0) return 0;
      const replies = -included / INCLUDED_PER_REPLY;
      included = 0;
      return replies;
    },
  };
}
