/** Tool rounds allowed at the start of a call, and added by each full minute. */
const ROUNDS_AT_START = 20;
const ROUNDS_PER_MINUTE = 10;
const MINUTE_MS = 60_000;

export type ToolRounds = ReturnType<typeof createToolRounds>;

/**
 * Limits the tool rounds of one call. After each round the model receives the whole prompt again, at the operator's
 * cost, while the call is billed by the minute; so the limit grows with the call's length.
 * @param now ms since the conversation began
 */
export function createToolRounds(now: () => number) {
  let used = 0;
  return {
    /** Whether the model may call tools now. */
    hasRoom: () => used < ROUNDS_AT_START + ROUNDS_PER_MINUTE * Math.floor(now() / MINUTE_MS),
    /** Counts one more request to the model after tool calls. */
    count(): void {
      used += 1;
    },
  };
}
