import { setTimeout as sleep } from 'node:timers/promises';
import { SESSION_POLICY } from '../../session/reducer/policy.js';
import type { SessionEventBody } from '../../session/reducer/events.js';
import { createModelCharges } from '../../session/model-charges.js';
import { costAt, type EnginePrices, type UsageMeter } from '../engine-usage.js';
import type { RealtimeResponse, RealtimeUsage } from './protocol.js';
import type { ProviderLink } from './provider-link.js';
import type { Responses } from './responses.js';
import { unitsOf } from './usage.js';

/** Tokens of a second of speech: its audio, and the text that the provider makes with it. */
const AUDIO_TOKENS_PER_S = 20;
const TEXT_TOKENS_PER_S = 4;
const BYTES_PER_S = 8_000;
const POLL_MS = 20;
/** The most replies that one response uses up: as many as a call can save, so that the next wait stays bearable. */
const MAX_CHARGED = SESSION_POLICY.replies.atOnce;

export type ResponseCosts = ReturnType<typeof createResponseCosts>;

/** Counts the usage of responses, and estimates the usage of those for which the provider does not report it. */
export function createResponseCosts(p: {
  link: Pick<ProviderLink, 'isReady' | 'promptTokens'>;
  responses: Responses;
  usage: UsageMeter;
  /** How long it takes until the call's account has tokens again, in ms. */
  owedMs: () => number;
  prices: EnginePrices;
  dispatch: (what: SessionEventBody) => void;
}) {
  const { link, responses, usage, prices, dispatch } = p;
  const charges = createModelCharges();
  /** The input of the last response; that of the next one is at least as long. */
  let lastInput: RealtimeUsage['input_token_details'];

  function add(units: Record<string, number>): void {
    for (const [unit, count] of Object.entries(units)) usage.add(unit, count);
    charges.replyBegun();
    // The provider has begun the response without asking, so the call's next replies wait for the account's tokens.
    const owed = p.owedMs() / SESSION_POLICY.replies.oneMoreAfterMs;
    const count = Math.max(owed, charges.repliesFor(costAt(prices, units)));
    if (count > 0) dispatch({ type: 'replies_charged', count: Math.min(count, MAX_CHARGED) });
  }

  function addEstimate(audioBytes: number): void {
    const seconds = audioBytes / BYTES_PER_S;
    const input = lastInput ?? { text_tokens: link.promptTokens() };
    const output = {
      audio_tokens: Math.ceil(seconds * AUDIO_TOKENS_PER_S),
      text_tokens: Math.ceil(seconds * TEXT_TOKENS_PER_S),
    };
    add(unitsOf({ input_token_details: input, output_token_details: output }));
  }

  /** Counts a response that will not be reported any more, because the connection was lost or is closed. */
  function addUnfinished(): void {
    const unfinished = responses.current();
    if (unfinished !== undefined) addEstimate(unfinished.audioBytes ?? 0);
  }

  return {
    /** Call this when a new provider session starts, because the input of the previous session does not count for it. */
    begin(): void {
      lastInput = undefined;
    },

    /** Counts a finished response. Call this before `responses.done`. */
    done({ id, status, usage: reported }: RealtimeResponse): void {
      if (reported?.input_token_details) lastInput = reported.input_token_details;
      if (reported) return add(unitsOf(reported));
      const { responseId, audioBytes = 0 } = responses.current() ?? {};
      // A response that failed without audio was not begun.
      if (responseId === id && (status !== 'failed' || audioBytes > 0)) addEstimate(audioBytes);
    },

    addUnfinished,

    /** Waits until the usage of the canceled response is reported, and estimates it after `timeoutMs`. */
    async finish(timeoutMs: number): Promise<void> {
      const until = performance.now() + timeoutMs;
      while (link.isReady() && responses.current() !== undefined && performance.now() < until) await sleep(POLL_MS);
      addUnfinished();
      responses.reset();
    },
  };
}
