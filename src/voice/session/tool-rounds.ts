/** Tool rounds available at the start of a call. One more becomes available each `ONE_MORE_AFTER_MS`. */
const ROUNDS_AT_START = 6;
const ONE_MORE_AFTER_MS = 5_000;

/**
 * Maximum tool calls that run in one round, which is one message of the model. The others are answered without being
 * run, because providers require an answer to each.
 */
export const MAX_CALLS_PER_ROUND = 16;

export type ToolRounds = ReturnType<typeof createToolRounds>;

/**
 * Limits the tool rounds of one call. A tool round is a request that sends tool results to the model, together with the
 * whole prompt. The operator pays for each round, while the call is billed by the second. So the limit grows with the
 * length of the call.
 * @param now time in ms since the conversation began
 */
export function createToolRounds(now: () => number) {
  let used = 0;
  return {
    /** Whether the model may call tools now. */
    hasRoom: () => used < ROUNDS_AT_START + Math.floor(now() / ONE_MORE_AFTER_MS),
    /** Counts one more request to the model after tool calls. */
    count(): void {
      used += 1;
    },
  };
}
