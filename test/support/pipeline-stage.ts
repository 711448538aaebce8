import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MULAW_SILENCE } from '../../src/voice/audio/mulaw.js';
import { createAccountTokens, type AccountTokens } from '../../src/voice/engines/account-tokens.js';
import { startPipelineSession } from '../../src/voice/engines/pipeline/session.js';
import type {
  ChatDelta,
  ChatMessage,
  ChatModel,
  ModelUsage,
  SpeechToText,
  SttEvents,
  TextToSpeech,
  TtsEvents,
  ToolRequest,
} from '../../src/voice/engines/pipeline/ports.js';
import type {
  AnsweredBy,
  EngineCall,
  EngineResult,
  ToolResult,
  ToolCall,
  TranscriptTurn,
  ProviderFailure,
  TurnLatency,
} from '../../src/voice/engines/port.js';
import type { PipelineProviders, Providers } from '../../src/voice/engines/chain/pipeline-chains.js';
import {
  createProviderHealth,
  type ProviderHealth,
  type ProviderStage,
} from '../../src/voice/engines/chain/provider-health.js';
import { createTurnTaking } from '../../src/voice/session/turn-taking.js';

const FRAME_MS = 20;
const FRAME_BYTES = 160;
const SILENCE = new Uint8Array(FRAME_BYTES).fill(MULAW_SILENCE);
const VOICE = new Uint8Array(FRAME_BYTES).fill(0);
/** One character of speech has 50 ms of audio. */
const BYTES_PER_CHARACTER = 50 * 8;
export const GREETING = 'Hello there.';
const FILLER_MS = 1_000;
const realTimeout = setTimeout;

/** A request to the LLM. The test sends the response. */
export interface LlmRequest {
  /** The messages without the system prompt, each as `role: content`. */
  messages: string[];
  mayCallTools: boolean;
  readonly abandoned: boolean;
  respond(text: string, ...tools: ToolRequest[]): void;
}

export const lookUp = (id: string): ToolRequest => ({ id, name: 'look_up', arguments: '{"day":"monday"}' });

/**
 * A dialogue in which the test controls everything around the engine, with jest's fake timers. The test supplies
 * transcripts, LLM responses and tool results. TTS speaks at once, and playback takes real time by the fake clock. The
 * first sample of each frame from the caller tells whether the frame is voice or silence.
 */
export async function openStage(
  options: {
    detectsEndOfTurn?: boolean;
    sttTimeoutMs?: number;
    call?: Partial<EngineCall>;
    tokens?: AccountTokens;
  } = {},
) {
  const origin = performance.now();
  const queue: { itemId: string; leftMs: number; playedMs: number; ended: boolean }[] = [];
  const sttStreams: SttEvents[] = [];
  let framesMs = 0;
  let voiceUntilMs = 0;

  const stage = {
    requests: [] as LlmRequest[],
    tools: [] as { call: ToolCall; finish(answer: ToolResult): void; fail(error: Error): void }[],
    turns: [] as TranscriptTurn[],
    /** The words shown to people who watch the call. */
    interim: [] as Pick<TranscriptTurn, 'speaker' | 'text'>[],
    latencies: [] as TurnLatency[],
    failures: [] as ProviderFailure[],
    /** The health of providers that the process stores. */
    health: createProviderHealth(() => 0),
    ended: undefined as string | undefined,
    failed: undefined as Error | undefined,
    /** The result of the engine, which `close` sets. */
    result: undefined as EngineResult | undefined,
    clears: 0,
    /** Faults of the next TTS streams: `ends` ends the stream before any text, and `mute` ends it without audio. */
    voiceFaults: [] as ('ends' | 'mute')[],
    /** If true, audio is played, but no marks report this to the engine. */
    losesMarks: false,
    /** The number of characters that were sent to TTS. */
    voiced: 0,
    /** The number of `finalize` calls on speech-to-text streams. */
    hurries: 0,
    /** The usage that the LLM reports with each response. */
    usage: undefined as ModelUsage | undefined,
    openings: () => sttStreams.length,
    /** How much voice was sent to the open speech-to-text stream, ms. */
    voiceGivenMs: 0,
    said: () => stage.turns.map(({ speaker, text }) => `${speaker}: ${text}`),
    now: () => performance.now() - origin,
    /** Returns the event handlers of the open speech-to-text stream. */
    hears: (): SttEvents => {
      const events = sttStreams.at(-1);
      if (events === undefined) throw new Error('no stt is open');
      return events;
    },
    isPlaying: () => queue.length > 0,
    /** Returns the last LLM request. Asserts that there have been exactly `count` requests. */
    lastRequest(count: number): LlmRequest {
      expect(stage.requests).toHaveLength(count);
      return stage.requests[count - 1] as LlmRequest;
    },
    /** Waits for LLM request number `count`. The pause before a second attempt takes real time. */
    async retriedRequest(count: number): Promise<LlmRequest> {
      for (let tries = 0; tries < 500 && stage.requests.length < count; tries++) {
        await new Promise((resolve) => realTimeout(resolve, 10));
      }
      return stage.lastRequest(count);
    },
    endingSoon: (seconds: number) => dialogue.onEndingSoon(seconds),
    answeredBy: (who: AnsweredBy) => dialogue.onAnsweredBy(who),
    presses(keys: string): void {
      for (const key of keys) dialogue.onDtmf(key);
    },
    /** Advances the clock. The caller's frames are voice while the caller speaks, and silence otherwise. */
    async pass(ms: number): Promise<void> {
      for (const until = stage.now() + ms; stage.now() < until;) {
        await jest.advanceTimersByTimeAsync(FRAME_MS);
        frame();
        play();
      }
    },
    /** Lets the caller speak for `ms` from now on. */
    async speaks(ms: number): Promise<void> {
      voiceUntilMs = framesMs + ms;
      await stage.pass(ms);
    },
    /** Delays the caller's frames by `ms`. Then all of them arrive at once; the first `voiceMs` are voice. */
    async comesLate(ms: number, voiceMs: number): Promise<void> {
      await jest.advanceTimersByTimeAsync(ms);
      voiceUntilMs = framesMs + voiceMs;
      for (let count = ms / FRAME_MS; count > 0; count--) frame();
    },
    /**
     * Lets the caller say `text`: a transcript arrives, then a possible end of turn, and then the silence that ends the
     * turn.
     */
    async says(text: string): Promise<void> {
      await stage.speaks(800);
      stage.hears().onInterim(text);
      stage.hears().onProbableEnd(text);
      await stage.pass(700);
    },
    async close(): Promise<void> {
      stage.result = await dialogue.stop();
      saveIncident(stage);
    },
  };

  function frame(): void {
    dialogue.onCallerAudio(framesMs < voiceUntilMs ? VOICE : SILENCE, framesMs);
    framesMs += FRAME_MS;
  }

  function play(): void {
    const [head] = queue;
    if (head === undefined) return;
    const ms = Math.min(FRAME_MS, head.leftMs);
    head.leftMs -= ms;
    head.playedMs += ms;
    const complete = head.ended && head.leftMs === 0;
    if (complete) queue.shift();
    if (stage.losesMarks) return;
    dialogue.onPlayed(head.itemId, head.playedMs, complete);
  }

  const itemOf = (itemId: string) => {
    const known = queue.find((item) => item.itemId === itemId);
    if (known !== undefined) return known;
    const item = { itemId, leftMs: 0, playedMs: 0, ended: false };
    queue.push(item);
    return item;
  };

  function openVoice(events: TtsEvents) {
    const fault = stage.voiceFaults.shift();
    let over = false;
    const done = () => queueMicrotask(() => over || events.onDone());
    if (fault === 'ends') done();
    return {
      say(text: string) {
        if (fault !== undefined) return;
        stage.voiced += text.length;
        events.onAudio(new Uint8Array(text.length * BYTES_PER_CHARACTER).fill(0));
        events.onSpoken(`${text} `);
      },
      finish: done,
      cancel: () => void (over = true),
    };
  }

  async function* answerOf(messages: readonly ChatMessage[], mayCallTools: boolean, signal: AbortSignal) {
    let answer: (deltas: ChatDelta[]) => void = () => undefined;
    const answered = new Promise<ChatDelta[]>((resolve, reject) => {
      answer = resolve;
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
    stage.requests.push({
      messages: messages.slice(1).map(({ role, content }) => `${role}: ${content}`),
      mayCallTools,
      get abandoned() {
        return signal.aborted;
      },
      respond: (text, ...tools) =>
        answer([
          ...(text === '' ? [] : [{ kind: 'text' as const, text }]),
          ...tools.map((request) => ({ kind: 'tool' as const, request })),
          ...(stage.usage === undefined ? [] : [{ kind: 'usage' as const, usage: stage.usage }]),
        ]),
    });
    yield* await answered;
  }

  const dialogue = startPipelineSession(
    {
      providers: providersOf({
        health: stage.health,
        stt: {
          detectsEndOfTurn: options.detectsEndOfTurn ?? false,
          open(_language, events) {
            sttStreams.push(events);
            stage.voiceGivenMs = 0;
            return {
              push: (frame) => void (stage.voiceGivenMs += frame === VOICE ? FRAME_MS : 0),
              finalize: () => void (stage.hurries += 1),
              discardTurn: () => undefined,
              close: () => undefined,
            };
          },
        },
        llm: { stream: ({ messages, mayCallTools, signal }) => answerOf(messages, mayCallTools, signal) },
        tts: { open: (_options, events) => openVoice(events) },
      }),
      turnTaking: createTurnTaking({
        isVoice: (pcm) => Math.abs(pcm[0] ?? 0) > 1_000,
        setThreshold: () => undefined,
        free: () => undefined,
      }),
      prepared: {
        warm: () => Promise.resolve(),
        prepare: () => undefined,
        getAudio: () => Promise.resolve(new Uint8Array(FILLER_MS * 8)),
        close: () => Promise.resolve(),
      },
      conclude: () => Promise.resolve({ summary: '', outputParameters: {} }),
      tokens: options.tokens ?? createAccountTokens(undefined),
      prices: {},
      recordsEvents: true,
      ...(options.sttTimeoutMs === undefined ? {} : { sttTimeoutMs: options.sttTimeoutMs }),
      log: () => undefined,
    },
    { ...CALL, ...options.call },
    {
      sendAudio(itemId, mulaw) {
        itemOf(itemId).leftMs += mulaw.length / 8;
      },
      endItem: (itemId) => void (itemOf(itemId).ended = true),
      clear() {
        stage.clears += 1;
        for (const { itemId, playedMs } of queue.splice(0)) dialogue.onPlayed(itemId, playedMs, false);
      },
      storeTurn: (turn) => void stage.turns.push(turn),
      showInterim: (speaker, read) => void stage.interim.push({ speaker, text: read() }),
      storeValues: () => undefined,
      storeLatency: (latency) => void stage.latencies.push(latency),
      storeAnsweredBy: () => undefined,
      storeFailure: (failure) => void stage.failures.push(failure),
      runTool: (call) => new Promise((finish, fail) => void stage.tools.push({ call, finish, fail })),
      end: (reason) => void (stage.ended = reason),
      fail: (error) => void (stage.failed = error),
    },
  );

  await stage.pass(100);
  stage.lastRequest(1).respond(GREETING);
  await stage.pass(GREETING.length * 50 + 500);
  expect(stage.said()).toEqual([`agent: ${GREETING}`]);
  return stage;
}

export type Stage = Awaited<ReturnType<typeof openStage>>;

const CALL: EngineCall = {
  callId: 'call_stage',
  instruction: 'Confirm the appointment.',
  voice: 'amber',
  language: 'en-US',
  inputParameters: {},
  outputTemplate: {},
  direction: 'outbound',
  disclosesAi: true,
  voicemail: { action: 'continue' },
  tools: [{ name: 'look_up', description: 'Looks up the appointment.', parameters: { type: 'object' } }],
};

/** If RECORD_SESSIONS is set, saves the session of the current test as a fixture in `test/histories/sessions`. */
function saveIncident({ said, result, failed, ended }: Pick<Stage, 'said' | 'result' | 'failed' | 'ended'>): void {
  const about = expect.getState().currentTestName ?? '';
  if (process.env['RECORD_SESSIONS'] === undefined || result?.sessionLogs?.[0] === undefined) return;
  const log: unknown = JSON.parse(result.sessionLogs[0]);
  const name = about
    .replace('turns in a call of the pipeline engine ', '')
    .replace(/[^a-zA-Z]+/g, '-')
    .toLowerCase();
  const incident = { about, said: said(), ended: ended ?? failed?.message ?? null, log };
  writeFileSync(
    join(__dirname, '../histories/sessions', `${name.slice(0, 100)}.json`),
    `${JSON.stringify(incident)}\n`,
  );
}

/** One provider for each stage, without alternatives. */
function providersOf(ports: {
  stt: SpeechToText;
  llm: ChatModel;
  tts: TextToSpeech;
  health: ProviderHealth;
}): PipelineProviders {
  const alone = <T>(stage: ProviderStage, port: T): Providers<T> => [
    { stage, number: 1, name: 'stage', model: 'stage', port },
  ];
  return {
    stt: alone('stt', ports.stt),
    llm: alone('llm', ports.llm),
    tts: alone('tts', ports.tts),
    health: ports.health,
  };
}
