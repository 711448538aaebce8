import { MULAW_SILENCE } from '../../../../src/voice/audio/mulaw.js';
import { createPlayback } from '../../../../src/voice/session/playback.js';
import type {
  AnsweredBy,
  Engine,
  EngineCall,
  EngineEnd,
  EngineResult,
  EngineSink,
  ParameterValues,
  ToolAnswer,
  ToolCall,
  TranscriptTurn,
  TurnLatency,
} from '../../../../src/voice/engines/port.js';

const FRAME_BYTES = 160;
const FRAME_MS = 20;
const TICK_MS = 10;
const SILENCE = new Uint8Array(FRAME_BYTES).fill(MULAW_SILENCE);

/** Something an engine did to the line, in order. */
export type LineEvent = { atMs: number } & (
  | { kind: 'audio'; itemId: string; bytes: number }
  | { kind: 'endOfItem'; itemId: string }
  | { kind: 'clear' }
  | { kind: 'end'; reason: EngineEnd }
  | { kind: 'fail'; error: Error }
);

export type EngineLine = ReturnType<typeof openEngineLine>;

/**
 * A line for one engine that runs in real time: the caller's frames go in every 20 ms, the agent's audio goes through the
 * service's own playback to a buffer that plays as a carrier does, echoes marks when it has come to them, and is emptied
 * by a clear. What the engine does to its sink is kept.
 */
export function openEngineLine(
  engine: Engine,
  call: EngineCall,
  answerTool: (call: ToolCall) => Promise<ToolAnswer> | ToolAnswer = () => ({ ok: true, result: 'done' }),
) {
  const origin = performance.now();
  const now = () => performance.now() - origin;
  const buffer: ({ frame: Uint8Array } | { mark: string })[] = [];
  const speech: Uint8Array[] = [];
  let frames = 0;
  let goodbye: EngineEnd | undefined;
  let over = false;

  const line = {
    now,
    events: [] as LineEvent[],
    turns: [] as TranscriptTurn[],
    tools: [] as ToolCall[],
    latencies: [] as TurnLatency[],
    answeredBy: undefined as AnsweredBy | undefined,
    values: undefined as ParameterValues | undefined,
    /** Every frame that reached the far end's ear. */
    heard: [] as Uint8Array[],
    frameSizes: new Set<number>(),
    /** When the first audio reached the ear, in ms from the start of the line. */
    firstHeardMs: undefined as number | undefined,
    /** How the engine wanted the call to end, once what it had said was heard. */
    ended: undefined as EngineEnd | undefined,
    failed: undefined as Error | undefined,
    /** What the sink was told after the engine had been stopped: nothing, if it is in order. */
    afterStop: [] as string[],
    isPlaying: () => buffer.some((item) => 'frame' in item) || !playback.isIdle(),
    /** The caller speaks, 8 kHz mu-law, and is silent after it. */
    say(mulaw: Uint8Array): void {
      for (let at = 0; at < mulaw.length; at += FRAME_BYTES) {
        const frame = new Uint8Array(SILENCE);
        frame.set(mulaw.subarray(at, at + FRAME_BYTES));
        speech.push(frame);
      }
    },
    callerSpeaks: () => speech.length > 0,
    agentTurns: () => line.turns.filter(({ speaker }) => speaker === 'agent').map(({ text }) => text),
    callerTurns: () => line.turns.filter(({ speaker }) => speaker === 'caller').map(({ text }) => text),
    clears: () => line.events.filter(({ kind }) => kind === 'clear').length,
    /** Ends the line and the engine; may be called again. */
    async hangUp(): Promise<EngineResult> {
      halt();
      return (stopping ??= engine.stop('caller_hangup'));
    },
  };
  let stopping: Promise<EngineResult> | undefined;

  function halt(): void {
    over = true;
    clearInterval(ticking);
  }

  const playback = createPlayback({
    line: {
      media(frame) {
        line.frameSizes.add(frame.length);
        buffer.push({ frame: frame.slice() });
      },
      mark: (mark) => void buffer.push({ mark }),
      clear: () => void buffer.splice(0),
    },
    now,
    onPlayed: (itemId, playedMs, complete) => engine.onPlayed(itemId, playedMs, complete),
    onAudioPlayed: () => undefined,
  });

  function note(event: LineEvent): void {
    if (over) line.afterStop.push(event.kind);
    else line.events.push(event);
  }

  const sink: EngineSink = {
    audio(itemId, mulaw) {
      note({ kind: 'audio', atMs: now(), itemId, bytes: mulaw.length });
      if (goodbye !== undefined || over) return;
      playback.enqueue(itemId, mulaw);
      playback.pump();
    },
    endOfItem(itemId) {
      note({ kind: 'endOfItem', atMs: now(), itemId });
      playback.endItem(itemId);
    },
    clear() {
      note({ kind: 'clear', atMs: now() });
      playback.clear();
    },
    transcript: (turn) => void line.turns.push(turn),
    values: (values) => (line.values = values),
    latency: (latency) => void line.latencies.push(latency),
    answeredBy: (who) => void (line.answeredBy = who),
    async tool(tool) {
      line.tools.push(tool);
      if (tool.name === 'end_call') sink.end('agent_hangup');
      return answerTool(tool);
    },
    end(reason) {
      note({ kind: 'end', atMs: now(), reason });
      goodbye ??= reason;
    },
    fail(error) {
      note({ kind: 'fail', atMs: now(), error });
      if (over) return;
      line.failed = error;
      halt();
    },
  };

  function playOne(): void {
    const playing = buffer.shift();
    if (playing !== undefined && 'frame' in playing) {
      line.firstHeardMs ??= now();
      line.heard.push(playing.frame);
    } else if (playing !== undefined) buffer.unshift(playing);
    for (let head = buffer[0]; head !== undefined && 'mark' in head; head = buffer[0]) {
      buffer.shift();
      const { mark } = head;
      setImmediate(() => over || playback.onMark(mark));
    }
  }

  const ticking = setInterval(() => {
    for (; !over && frames * FRAME_MS <= now(); frames++) {
      engine.onCallerAudio(speech.shift() ?? SILENCE, frames * FRAME_MS);
      playOne();
    }
    if (over) return;
    playback.pump();
    if (goodbye !== undefined && playback.isIdle() && !line.isPlaying()) {
      line.ended = goodbye;
      halt();
    }
  }, TICK_MS);

  engine.start(call, sink).catch((error: unknown) => {
    if (!over) sink.fail(error instanceof Error ? error : new Error(String(error)));
  });
  return line;
}
