/** Silence timeouts that differ from the session policy. */
export interface SilenceTimeouts {
  /** Silence of both sides before the agent asks whether the caller is still there, in ms. */
  promptAfterMs: number;
  /** Silence of the caller before the call ends, in ms. */
  endAfterMs: number;
}
