/** The behavior of a session, the same for every engine. Times are in milliseconds. */
export interface SessionPolicy {
  silence: {
    /** Silence of both sides before the agent asks whether the caller is still there. */
    repromptAfterMs: number;
    /** Silence since the last speech of either side before the call ends. */
    endAfterMs: number;
  };
  bargeIn: {
    /** How long the caller must speak to interrupt, if our VAD decides. VAD needs 160 ms to detect any voice. */
    voiceMs: number;
    /** Set if the agent's settings define an interruption. Then less than that is not answered. */
    needs?: {
      voiceMs?: number;
      words?: number;
      /** How much later than it happens the provider reports the end of voice. */
      reportedAfterMs?: number;
    };
    /** Set to false if the agent waits for the caller after it was interrupted by a noise. */
    resumesAfterNoise?: boolean;
  };
  introduction: {
    /** An introduction counts as heard when this much of it was played, or all of it. */
    heardAfterMs: number;
    /** Maximum introductions; after that the agent no longer repeats one that was interrupted. */
    attempts: number;
  };
  turns: {
    /** How long after the caller's last voice the session asks STT for its transcript. */
    hurryAfterMs: number;
    /**
     * How long after the caller's last voice the session ends the turn with the words recognized so far. If STT has
     * recognized no words, the voice counts as noise.
     */
    giveUpAfterMs: number;
    /** How long words must stay unchanged before they end a turn. */
    settledAfterMs: number;
    /** Words that stay unchanged for this long end the turn even if a noise continues. */
    decidedWithinMs: number;
    /** STT has stalled if it sends nothing for this long after the caller spoke. */
    stalledAfterMs: number;
    /** Voice shorter than this counts as noise if STT sends nothing for it. */
    voiceWithWordsMs: number;
    /** Assumed length of words that VAD did not detect. */
    unheardWordsMs: number;
    /**
     * How long an open turn keeps the silence timeout from running. People do not speak longer without a pause that
     * ends their turn, so the turn is a lasting noise, or its end was not reported.
     */
    openAtMostMs: number;
  };
  dtmf: {
    /** An entry of DTMF digits is complete when no digit follows for this long. */
    pauseMs: number;
    /** Digit that completes an entry. */
    endDigit: string;
    maxDigits: number;
    /** Minimum time between two entries of DTMF digits. Digits pressed meanwhile belong to the second entry. */
    minGapMs: number;
  };
  replies: {
    /** Replies available when the call begins, before any time is billed. */
    atStart: number;
    /** Maximum replies in quick succession. No real conversation needs more. */
    atOnce: number;
    /** Time after which one more reply is available. */
    oneMoreAfterMs: number;
    /** Replies reserved for complete turns. A reply that begins before the end of a turn never uses them. */
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
    /** Silence before the message if no tone was detected. Longer, because machines pause before their tone. */
    quietWithoutToneMs: number;
    /** Timeout for the whole message to be spoken. */
    messageWithinMs: number;
  };
  closing: {
    /** Timeout for the last sentence to be played. */
    lastLineWithinMs: number;
    /** After the agent's goodbye, how long the remote party may hang up first. */
    lingerMs: number;
    /** How long a caller who said goodbye may take to hang up. */
    hangUpWithinMs: number;
    /** Extra time before the hang-up for a caller who is speaking to finish a short sentence. */
    lastSentenceMs: number;
  };
  playback: {
    /** How long after an item should have ended it counts as ended if its mark is missing. */
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
    openAtMostMs: 60_000,
  },
  dtmf: { pauseMs: 3_000, endDigit: '#', maxDigits: 64, minGapMs: 1_500 },
  replies: { atStart: 6, atOnce: 30, oneMoreAfterMs: 2_500, reserve: 3 },
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
