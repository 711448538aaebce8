import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MULAW_SILENCE } from '../../src/voice/audio/mulaw.js';
import { startDialogue } from '../../src/voice/engines/pipeline/dialogue.js';
import type {
  ChatDelta,
  ChatMessage,
  RecogniserEvents,
  SpeechEvents,
  ToolRequest,
} from '../../src/voice/engines/pipeline/ports.js';
import type {
  AnsweredBy,
  EngineCall,
  EngineResult,
  ToolAnswer,
  ToolCall,
  TranscriptTurn,
  TurnLatency,
} from '../../src/voice/engines/port.js';
import { createTurnTaking } from '../../src/voice/session/turn-taking.js';

const FRAME_MS = 20;
const FRAME_BYTES = 160;
const SILENCE = new Uint8Array(FRAME_BYTES).fill(MULAW_SILENCE);
const VOICE = new Uint8Array(FRAME_BYTES).fill(0);
/** Audio per character of speech: 50 ms. */
const BYTES_PER_CHARACTER = 50 * 8;
export const GREETING = 'Hello there.';
const FILLER_MS = 1_000;
const realTimeout = setTimeout;

/** A request to the LLM, to which the test responds. */
export interface Asked {
  /** Messages without the prompt, each as `role: content`. */
  talk: string[];
  mayCallTools: boolean;
  readonly abandoned: boolean;
  answers(text: string, ...tools: ToolRequest[]): void;
}

export const lookUp = (id: string): ToolRequest => ({ id, name: 'look_up', arguments: '{"day":"monday"}' });

/**
 * A dialogue whose surroundings the test controls, with jest's fake timers: the test supplies transcripts, LLM
 * responses and tool results; TTS speaks at once; playback takes its real duration. The first sample of a caller's
 * frame tells voice from silence.
 */
export async function openStage(
  options: { decidesTurns?: boolean; recogniserSilentMs?: number; call?: Partial<EngineCall> } = {},
) {
  const origin = performance.now();
  const queue: { itemId: string; leftMs: number; playedMs: number; ended: boolean }[] = [];
  const recognisers: RecogniserEvents[] = [];
  let framesMs = 0;
  let voiceUntilMs = 0;

  const stage = {
    asked: [] as Asked[],
    tools: [] as { call: ToolCall; finish(answer: ToolAnswer): void }[],
    turns: [] as TranscriptTurn[],
    latencies: [] as TurnLatency[],
    ended: undefined as string | undefined,
    failed: undefined as Error | undefined,
    /** Set by `close`. */
    result: undefined as EngineResult | undefined,
    clears: 0,
    /** Faults of the next TTS streams: they end before any text, or end without audio. */
    voiceFaults: [] as ('ends' | 'mute')[],
    /** Playback works, but is not reported. */
    losesMarks: false,
    /** Number of characters sent to TTS. */
    voiced: 0,
    /** Number of `hurry` calls on speech-to-text streams. */
    hurries: 0,
    openings: () => recognisers.length,
    /** Voice sent to the open speech-to-text stream, ms. */
    voiceGivenMs: 0,
    said: () => stage.turns.map(({ speaker, text }) => `${speaker}: ${text}`),
    now: () => performance.now() - origin,
    /** Event handlers of the open speech-to-text stream. */
    hears: (): RecogniserEvents => {
      const events = recognisers.at(-1);
      if (events === undefined) throw new Error('no recogniser is open');
      return events;
    },
    isPlaying: () => queue.length > 0,
    /** The last LLM request. Asserts that there were exactly `count`. */
    lastAsked(count: number): Asked {
      expect(stage.asked).toHaveLength(count);
      return stage.asked[count - 1] as Asked;
    },
    /** Waits for the LLM request number `count`. The pause before a second attempt uses real time. */
    async askedAgain(count: number): Promise<Asked> {
      for (let tries = 0; tries < 500 && stage.asked.length < count; tries++) {
        await new Promise((resolve) => realTimeout(resolve, 10));
      }
      return stage.lastAsked(count);
    },
    endingSoon: (seconds: number) => dialogue.endingSoon(seconds),
    answeredBy: (who: AnsweredBy) => dialogue.answeredBy(who),
    presses(keys: string): void {
      for (const key of keys) dialogue.key(key);
    },
    /** Advances time, with frames of voice while the caller speaks and of silence otherwise. */
    async pass(ms: number): Promise<void> {
      for (const until = stage.now() + ms; stage.now() < until;) {
        await jest.advanceTimersByTimeAsync(FRAME_MS);
        frame();
        play();
      }
    },
    /** The caller speaks for `ms` from now on. */
    async speaks(ms: number): Promise<void> {
      voiceUntilMs = framesMs + ms;
      await stage.pass(ms);
    },
    /** The caller's frames are delayed by `ms`, then all arrive at once, starting with `voiceMs` of voice. */
    async comesLate(ms: number, voiceMs: number): Promise<void> {
      await jest.advanceTimersByTimeAsync(ms);
      voiceUntilMs = framesMs + voiceMs;
      for (let count = ms / FRAME_MS; count > 0; count--) frame();
    },
    /** The caller says `text`: a transcript, a possible end of turn, and then the silence that ends the turn. */
    async says(text: string): Promise<void> {
      await stage.speaks(800);
      stage.hears().onWords(text);
      stage.hears().onMayEnd(text);
      await stage.pass(700);
    },
    async close(): Promise<void> {
      stage.result = await dialogue.stop();
      keepIncident(stage);
    },
  };

  function frame(): void {
    dialogue.hear(framesMs < voiceUntilMs ? VOICE : SILENCE, framesMs);
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
    dialogue.played(head.itemId, head.playedMs, complete);
  }

  const itemOf = (itemId: string) => {
    const known = queue.find((item) => item.itemId === itemId);
    if (known !== undefined) return known;
    const item = { itemId, leftMs: 0, playedMs: 0, ended: false };
    queue.push(item);
    return item;
  };

  function openVoice(events: SpeechEvents) {
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
    stage.asked.push({
      talk: messages.slice(1).map(({ role, content }) => `${role}: ${content}`),
      mayCallTools,
      get abandoned() {
        return signal.aborted;
      },
      answers: (text, ...tools) =>
        answer([
          ...(text === '' ? [] : [{ kind: 'text' as const, text }]),
          ...tools.map((request) => ({ kind: 'tool' as const, request })),
        ]),
    });
    yield* await answered;
  }

  const dialogue = startDialogue(
    {
      recogniser: {
        decidesTurns: options.decidesTurns ?? false,
        open(_language, events) {
          recognisers.push(events);
          stage.voiceGivenMs = 0;
          return {
            push: (frame) => void (stage.voiceGivenMs += frame === VOICE ? FRAME_MS : 0),
            hurry: () => void (stage.hurries += 1),
            forget: () => undefined,
            close: () => undefined,
          };
        },
      },
      model: { stream: ({ messages, mayCallTools, signal }) => answerOf(messages, mayCallTools, signal) },
      voice: { open: (_voice, _language, events) => openVoice(events) },
      turnTaking: createTurnTaking({ isVoice: (pcm) => Math.abs(pcm[0] ?? 0) > 1_000, free: () => undefined }),
      prepared: {
        warm: () => Promise.resolve(),
        prepare: () => undefined,
        audioOf: () => Promise.resolve(new Uint8Array(FILLER_MS * 8)),
        close: () => Promise.resolve(),
      },
      conclude: () => Promise.resolve({ summary: '', outputParameters: {} }),
      prices: {},
      recordsEvents: true,
      ...(options.recogniserSilentMs === undefined ? {} : { recogniserSilentMs: options.recogniserSilentMs }),
      log: () => undefined,
    },
    { ...CALL, ...options.call },
    {
      audio(itemId, mulaw) {
        itemOf(itemId).leftMs += mulaw.length / 8;
      },
      endOfItem: (itemId) => void (itemOf(itemId).ended = true),
      clear() {
        stage.clears += 1;
        for (const { itemId, playedMs } of queue.splice(0)) dialogue.played(itemId, playedMs, false);
      },
      transcript: (turn) => void stage.turns.push(turn),
      values: () => undefined,
      latency: (latency) => void stage.latencies.push(latency),
      answeredBy: () => undefined,
      tool: (call) => new Promise((finish) => void stage.tools.push({ call, finish })),
      end: (reason) => void (stage.ended = reason),
      fail: (error) => void (stage.failed = error),
    },
  );

  await stage.pass(100);
  stage.lastAsked(1).answers(GREETING);
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

/** If RECORD_SESSIONS is set, saves the current test's session as a fixture in `test/histories/sessions`. */
function keepIncident({ said, result, failed, ended }: Pick<Stage, 'said' | 'result' | 'failed' | 'ended'>): void {
  const about = expect.getState().currentTestName ?? '';
  if (process.env['RECORD_SESSIONS'] === undefined || result?.sessionLog === undefined) return;
  const log: unknown = JSON.parse(result.sessionLog);
  const name = about
    .replace('the turns of a call of the pipeline engine ', '')
    .replace(/[^a-zA-Z]+/g, '-')
    .toLowerCase();
  const incident = { about, said: said(), ended: ended ?? failed?.message ?? null, log };
  writeFileSync(
    join(__dirname, '../histories/sessions', `${name.slice(0, 100)}.json`),
    `${JSON.stringify(incident)}\n`,
  );
}
