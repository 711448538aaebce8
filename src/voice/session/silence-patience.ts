/** How long a silent caller is waited for, where it is not the policy's time. */
export interface SilencePatience {
  /** Mutual silence until the caller is asked whether they are there, ms. */
  promptAfterMs: number;
  /** Silence of the caller until the call is ended, ms. */
  endAfterMs: number;
}
