import { MULAW_SILENCE } from '../../src/voice/audio/mulaw.js';
import type {
  AnsweredBy,
  Engine,
  EngineCall,
  EngineEndReason,
  EngineResult,
  ParameterValues,
  TranscriptTurn,
  TurnLatency,
} from '../../src/voice/engines/port.js';

const FRAME_MS = 20;
const FRAME_BYTES = 160;
const SILENCE = new Uint8Array(FRAME_BYTES).fill(MULAW_SILENCE);

export const CALL: EngineCall = {
  callId: 'call_1',
  instruction: 'I am calling about your table for two. Be brief.',
  voice: 'amber',
  language: 'en-US',
  inputParameters: {},
  outputTemplate: {},
  direction: 'outbound',
  disclosesAi: true,
  voicemail: { action: 'hang_up' },
  tools: [],
};

export type EngineLine = ReturnType<typeof connect>;

/**
 * Connects an engine to a simulated line in real time, without a carrier. The line plays the engine's audio and reports
 * the playback.
 */
export function connect(engine: Engine, changes: Partial<EngineCall> = {}) {
  const startedAt = performance.now();
  const now = () => performance.now() - startedAt;
  let queue: { itemId: string; mulaw: Uint8Array }[] = [];
  let itemsEnded = new Set<string>();
  const playedMs = new Map<string, number>();
  const begun = new Set<string>();
  const speech: Uint8Array[] = [];
  let isNewSpeech = false;
  let frames = 0;
  let end: (reason: EngineEndReason) => void = () => undefined;

  const line = {
    now,
    transcript: [] as TranscriptTurn[],
    /** The words shown to people who watch the call. */
    interim: [] as Pick<TranscriptTurn, 'speaker' | 'text'>[],
    values: {} as ParameterValues,
    latencies: [] as TurnLatency[],
    answeredBy: undefined as AnsweredBy | undefined,
    /** When the playback of each item began, and when each clear arrived, in ms since the start. */
    itemsAt: [] as number[],
    clearedAt: [] as number[],
    /** When the caller's utterances were sent, in ms since the start. */
    said: [] as { fromMs: number; toMs: number }[],
    failures: [] as Error[],
    heard: [] as Uint8Array[],
    ended: new Promise<EngineEndReason>((resolve) => (end = resolve)),
    /** Returns the number of items for which the engine has sent audio. */
    audioItems: () => begun.size,
    isPlaying: () => queue.length > 0 || itemsEnded.size > 0,
    say(mulaw: Uint8Array): void {
      isNewSpeech = true;
      for (let at = 0; at < mulaw.length; at += FRAME_BYTES) {
        const frame = new Uint8Array(SILENCE);
        frame.set(mulaw.subarray(at, at + FRAME_BYTES));
        speech.push(frame);
      }
    },
    type: (text: string) => engine.onText?.(text),
    /** Waits until the agent has had `turns` more turns and is silent. @returns the text of the last turn */
    async agentTurn(turns = 1): Promise<string> {
      const said = () => line.transcript.filter(({ speaker }) => speaker === 'agent');
      const before = reportedTurns;
      await until(() => said().length >= before + turns && !line.isPlaying());
      reportedTurns = said().length;
      return said().at(-1)?.text ?? '';
    },
    async stop(): Promise<EngineResult> {
      clearInterval(ticking);
      return engine.stop('carrier_stop');
    },
  };
  let reportedTurns = 0;

  function recordSpeech(): void {
    const last = line.said.at(-1);
    if (isNewSpeech || last === undefined) line.said.push({ fromMs: now(), toMs: now() + FRAME_MS });
    else last.toMs = now() + FRAME_MS;
    isNewSpeech = false;
  }

  function play(): void {
    const head = queue[0];
    if (head === undefined) {
      for (const itemId of itemsEnded) {
        itemsEnded.delete(itemId);
        engine.onPlayed(itemId, playedMs.get(itemId) ?? 0, true);
      }
      return;
    }
    if (!playedMs.has(head.itemId)) line.itemsAt.push(now());
    line.heard.push(head.mulaw.subarray(0, FRAME_BYTES));
    const at = (playedMs.get(head.itemId) ?? 0) + FRAME_MS;
    playedMs.set(head.itemId, at);
    if (head.mulaw.length <= FRAME_BYTES) queue.shift();
    else head.mulaw = head.mulaw.subarray(FRAME_BYTES);
    if (at % 200 === 0) engine.onPlayed(head.itemId, at, false);
  }

  const ticking = setInterval(() => {
    for (; frames * FRAME_MS <= now(); frames++) {
      const words = speech.shift();
      if (words !== undefined) recordSpeech();
      engine.onCallerAudio(words ?? SILENCE, frames * FRAME_MS);
      play();
    }
  }, FRAME_MS / 2);

  void engine.start(
    { ...CALL, ...changes },
    {
      sendAudio(itemId, mulaw) {
        begun.add(itemId);
        queue.push({ itemId, mulaw });
      },
      endItem: (itemId) => itemsEnded.add(itemId),
      storeFailure: () => undefined,
      clear() {
        line.clearedAt.push(now());
        const ids = new Set(queue.map(({ itemId }) => itemId));
        queue = [];
        itemsEnded = new Set();
        for (const id of ids) engine.onPlayed(id, playedMs.get(id) ?? 0, false);
      },
      storeTurn: (turn) => line.transcript.push(turn),
      showInterim: (speaker, read) => line.interim.push({ speaker, text: read() }),
      storeValues: (values) => (line.values = values),
      storeLatency: (latency) => line.latencies.push(latency),
      storeAnsweredBy: (who) => (line.answeredBy = who),
      runTool: ({ name }) => Promise.resolve({ ok: false, error: `unknown tool ${name}` }),
      end(reason) {
        void until(() => !line.isPlaying()).then(() => end(reason));
      },
      fail: (error) => line.failures.push(error),
    },
  );
  return line;
}

/** Calls `check` again and again until it returns true. @throws Error after `ms` */
export async function until(check: () => boolean, ms = 30_000): Promise<void> {
  const deadline = performance.now() + ms;
  while (!check()) {
    if (performance.now() > deadline) throw new Error(`not true within ${ms} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
