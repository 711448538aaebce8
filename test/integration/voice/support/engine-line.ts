import { MULAW_SILENCE } from '../../../../src/voice/audio/mulaw.js';
import { createPlayback } from '../../../../src/voice/session/playback.js';
import type {
  AnsweredBy,
  Engine,
  EngineCall,
  EngineEndReason,
  EngineResult,
  EngineSink,
  FailureCause,
  ParameterValues,
  ProviderFailure,
  ToolResult,
  ToolCall,
  TranscriptTurn,
  TurnLatency,
} from '../../../../src/voice/engines/port.js';

const FRAME_BYTES = 160;
const FRAME_MS = 20;
const TICK_MS = 10;
const SILENCE = new Uint8Array(FRAME_BYTES).fill(MULAW_SILENCE);

/** An action of the engine on the line. The line records the actions in order. */
export type LineEvent = { atMs: number } & (
  | { kind: 'audio'; itemId: string; bytes: number }
  | { kind: 'endOfItem'; itemId: string }
  | { kind: 'clear' }
  | { kind: 'end'; reason: EngineEndReason }
  | { kind: 'fail'; error: Error }
);

export type EngineLine = ReturnType<typeof openEngineLine>;

/**
 * A line for one engine, in real time. The caller's frames arrive every 20 ms. The agent's audio passes through the
 * service's playback to a buffer, which plays in real time, returns marks like a carrier, and is emptied by a clear.
 * The line records what the engine calls on its sink.
 */
export function openEngineLine(
  engine: Engine,
  call: EngineCall,
  answerTool: (call: ToolCall) => Promise<ToolResult> | ToolResult = () => ({ ok: true, result: 'done' }),
) {
  const origin = performance.now();
  const now = () => performance.now() - origin;
  const buffer: ({ frame: Uint8Array } | { mark: string })[] = [];
  const speech: Uint8Array[] = [];
  let frames = 0;
  let goodbye: EngineEndReason | undefined;
  let isOver = false;

  const line = {
    now,
    /** The usage so far, as the engine reports it during the call. */
    usage: () => engine.usage?.(),
    events: [] as LineEvent[],
    turns: [] as TranscriptTurn[],
    /** The words shown to people who watch the call. */
    interim: [] as Pick<TranscriptTurn, 'speaker' | 'text'>[],
    tools: [] as ToolCall[],
    latencies: [] as TurnLatency[],
    failures: [] as ProviderFailure[],
    /** The causes of the failures; undefined if the failure itself names it. */
    blames: [] as (FailureCause['blame'] | undefined)[],
    answeredBy: undefined as AnsweredBy | undefined,
    values: undefined as ParameterValues | undefined,
    /** Every frame that was played to the remote party. */
    heard: [] as Uint8Array[],
    frameSizes: new Set<number>(),
    /** When the first audio was played, in ms from the start of the line. */
    firstHeardMs: undefined as number | undefined,
    /** How the engine ended the call, set after its speech was played. */
    ended: undefined as EngineEndReason | undefined,
    failed: undefined as Error | undefined,
    /** Calls of the engine on its sink after the engine was stopped. This list must stay empty. */
    afterStop: [] as string[],
    isPlaying: () => buffer.some((item) => 'frame' in item) || !playback.isIdle(),
    /** Queues the caller's speech, 8 kHz mu-law; silence follows it. */
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
    isOver = true;
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

  function record(event: LineEvent): void {
    if (isOver) line.afterStop.push(event.kind);
    else line.events.push(event);
  }

  const sink: EngineSink = {
    sendAudio(itemId, mulaw) {
      record({ kind: 'audio', atMs: now(), itemId, bytes: mulaw.length });
      if (goodbye !== undefined || isOver) return;
      playback.enqueue(itemId, mulaw);
      playback.pump();
    },
    endItem(itemId) {
      record({ kind: 'endOfItem', atMs: now(), itemId });
      playback.endItem(itemId);
    },
    clear() {
      record({ kind: 'clear', atMs: now() });
      playback.clear();
    },
    storeTurn: (turn) => void line.turns.push(turn),
    showInterim: (speaker, read) => void line.interim.push({ speaker, text: read() }),
    storeValues: (values) => (line.values = values),
    storeLatency: (latency) => void line.latencies.push(latency),
    storeAnsweredBy: (who) => void (line.answeredBy = who),
    storeFailure(failure, cause) {
      line.failures.push(failure);
      line.blames.push(cause?.blame);
    },
    async runTool(tool) {
      line.tools.push(tool);
      if (tool.name === 'end_call') sink.end('agent_hangup');
      return answerTool(tool);
    },
    end(reason) {
      record({ kind: 'end', atMs: now(), reason });
      goodbye ??= reason;
    },
    fail(error) {
      record({ kind: 'fail', atMs: now(), error });
      if (isOver) return;
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
      setImmediate(() => isOver || playback.onMark(mark));
    }
  }

  const ticking = setInterval(() => {
    for (; !isOver && frames * FRAME_MS <= now(); frames++) {
      engine.onCallerAudio(speech.shift() ?? SILENCE, frames * FRAME_MS);
      playOne();
    }
    if (isOver) return;
    playback.pump();
    if (goodbye !== undefined && playback.isIdle() && !line.isPlaying()) {
      line.ended = goodbye;
      halt();
    }
  }, TICK_MS);

  engine.start(call, sink).catch((error: unknown) => {
    if (!isOver) sink.fail(error instanceof Error ? error : new Error(String(error)));
  });
  return line;
}
