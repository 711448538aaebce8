/** The behavior of a session, the same for every engine. Times are in milliseconds. */
export interface SessionPolicy {
  silence: {
    /** Silence of both sides before the agent asks whether the caller is still there. */
    repromptAfterMs: number;
    /** Silence since the last speech of either side before the call ends. */
    endAfterMs: number;
  };
  bargeIn: {
    /** Caller voice that counts as a barge-in, where our own VAD decides; VAD itself first needs 160 ms of voice. */
    voiceMs: number;
  };
  introduction: {
    /** An introduction counts as heard after this much of it, or when it has played to its end. */
    heardAfterMs: number;
    /** Maximum introductions; after that the agent no longer repeats one that was interrupted. */
    attempts: number;
  };
  turns: {
    /** Ask STT for its transcript this long after the caller's last voice. */
    hurryAfterMs: number;
    /** End the turn with the words known this long after the last voice; voice without words is a noise. */
    giveUpAfterMs: number;
    /** Words that changed this recently may still change. */
    settledAfterMs: number;
    /** Words unchanged for this long end the turn even if a noise continues. */
    decidedWithinMs: number;
    /** STT has stalled if it sends nothing for this long after the caller spoke. */
    stalledAfterMs: number;
    /** Shorter voice may be without words. */
    voiceWithWordsMs: number;
    /** Assumed length of words that VAD did not detect. */
    unheardWordsMs: number;
  };
  dtmf: {
    /** Digits count as complete after this pause. */
    pauseMs: number;
    /** Digit that completes an entry. */
    endDigit: string;
    maxDigits: number;
    /** Minimum time between two entries; digits entered meanwhile join the second. */
    minGapMs: number;
  };
  replies: {
    /** Replies available in quick succession; no real conversation needs more. */
    atOnce: number;
    /** Time that earns one more reply. */
    oneMoreAfterMs: number;
    /** Replies reserved for complete turns; early replies never use them. */
    reserve: number;
  };
  filler: {
    /** How long the caller waits for a reply before a filler plays. */
    afterMs: number;
  };
  voicemail: {
    /** After this time the message is spoken even if the greeting has not ended. */
    greetingWithinMs: number;
    /** Voice that ends this soon after a tone belongs to the tone. */
    toneTailMs: number;
    /** Silence before the message, after a tone or if the carrier detected the machine. */
    quietAfterToneMs: number;
    /** Silence before the message if no tone was detected: machines pause before their tone. */
    quietWithoutToneMs: number;
    /** Timeout for the whole message to be sent. */
    messageWithinMs: number;
  };
  closing: {
    /** Timeout for the last sentence to be played. */
    lastLineWithinMs: number;
    /** After the agent's goodbye, how long the remote party may hang up first. */
    lingerMs: number;
    /** How long a caller who said goodbye may take to hang up. */
    hangUpWithinMs: number;
    /** Extra time for a caller who speaks meanwhile to finish a short sentence. */
    lastSentenceMs: number;
  };
  playback: {
    /** Time after an item's length when it counts as over without a mark. */
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
