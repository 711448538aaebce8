/** How a session behaves, in one place for every engine. Times are milliseconds. */
export interface SessionPolicy {
  silence: {
    /** Mutual silence until the caller is asked whether they are there. */
    repromptAfterMs: number;
    /** Silence since the last word until the call is ended. */
    endAfterMs: number;
  };
  bargeIn: {
    /** Voice over the agent's that makes it stop, where we detect it: that needs 160 ms to call a sound voice at all. */
    voiceMs: number;
  };
  introduction: {
    /** An introduction counts as heard from here on, or when it was heard to its end. */
    heardAfterMs: number;
    /** A caller who interrupts this many introductions is not introduced to again. */
    attempts: number;
  };
  turns: {
    /** The recognizer is asked for words this long after the caller's last voice. */
    hurryAfterMs: number;
    /** The words known this long after the last voice are the turn; voice without words is a noise. */
    giveUpAfterMs: number;
    /** Words that changed this recently may still grow. */
    settledAfterMs: number;
    /** Words unchanged for this long are the turn even if a noise goes on. */
    decidedWithinMs: number;
    /** A recognizer that sends nothing for this long to a caller who spoke has stalled. */
    stalledAfterMs: number;
    /** Shorter voice need not hold words. */
    voiceWithWordsMs: number;
    /** Assumed length of words that voice detection did not hear. */
    unheardWordsMs: number;
  };
  dtmf: {
    /** Digits count as complete after this pause. */
    pauseMs: number;
    /** Digits count as complete with this one. */
    endDigit: string;
    maxDigits: number;
    /** Two entries are never told sooner after one another: what is pressed meanwhile joins the second. */
    minGapMs: number;
  };
  replies: {
    /** Replies in quick succession that a call may have; no honest conversation reaches this. */
    atOnce: number;
    /** One more is earned each time. */
    oneMoreAfterMs: number;
    /** Kept for callers who have certainly finished. */
    reserve: number;
  };
  filler: {
    /** A caller who waits longer for an answer hears a filler. */
    afterMs: number;
  };
  voicemail: {
    /** A greeting that goes on longer is talked over. */
    greetingWithinMs: number;
    /** Voice that ends so soon after a tone is the tone's own. */
    toneTailMs: number;
    /** Quiet before the message, behind the tone or when the carrier detected the machine. */
    quietAfterToneMs: number;
    /** Quiet before the message when no tone was heard: machines pause before their tone. */
    quietWithoutToneMs: number;
    /** The message must be on the line within this time. */
    messageWithinMs: number;
  };
  closing: {
    /** The last line must have been heard within this time. */
    lastLineWithinMs: number;
    /** After the agent's goodbye the far end may hang up first for so long. */
    lingerMs: number;
    /** How long a far end that said goodbye may take to hang up. */
    hangUpWithinMs: number;
    /** A caller who speaks meanwhile may come to the end of a short sentence. */
    lastSentenceMs: number;
  };
  playback: {
    /** An item counts as over this long after its length when no mark comes back. */
    markGraceMs: number;
  };
}

export const SESSION_POLICY: SessionPolicy = {
  silence: { repromptAfterMs: 10_000, endAfterMs: 30_000 },
  bargeIn: { voiceMs: 160 },
  introduction: { heardAfterMs: 2_000, attempts: 2 },
  turns: {
    hurryAfterMs: 1_200,
    giveUpAfterMs: 2_000,
    settledAfterMs: 800,
    decidedWithinMs: 7_000,
    stalledAfterMs: 3_500,
    voiceWithWordsMs: 400,
    unheardWordsMs: 500,
  },
  dtmf: { pauseMs: 3_000, endDigit: '#', maxDigits: 64, minGapMs: 1_500 },
  replies: { atOnce: 30, oneMoreAfterMs: 2_500, reserve: 10 },
  filler: { afterMs: 1_500 },
  voicemail: {
    greetingWithinMs: 40_000,
    toneTailMs: 300,
    quietAfterToneMs: 1_000,
    quietWithoutToneMs: 4_000,
    messageWithinMs: 60_000,
  },
  closing: { lastLineWithinMs: 20_000, lingerMs: 1_500, hangUpWithinMs: 4_000, lastSentenceMs: 4_000 },
  playback: { markGraceMs: 3_000 },
};
