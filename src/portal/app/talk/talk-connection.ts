import { pauseBeforeAttempt, reduceTalk, type TalkEvent, type TalkState } from './talk-state';

const FRAME_MS = 20;
/** A larger difference between the frames sent and the time passed means that the microphone paused. */
const PAUSE_MS = 200;

export interface TalkOptions {
  /** From `POST /web_calls`. */
  url: string;
  token: string;
  onState: (state: TalkState) => void;
  /** Plays audio: mu-law, 8 kHz. */
  onAudio: (audio: Uint8Array) => void;
  onMark: (name: string) => void;
  onClear: () => void;
}

type ServerMessage =
  | Exclude<TalkEvent, { event: 'closed' }>
  | { event: 'media'; payload: string }
  | { event: 'mark'; name: string }
  | { event: 'clear' };

/** Connects to a web call and keeps it connected until it has ended. docs/web-calls.md describes the messages. */
export function connectTalk({ url, token, onState, onAudio, onMark, onClear }: TalkOptions) {
  let state: TalkState = { phase: 'connecting', token };
  let socket: WebSocket | undefined;
  let nextAttempt: ReturnType<typeof setTimeout> | undefined;
  let clock = createFrameClock();

  function apply(event: TalkEvent): void {
    const next = reduceTalk(state, event);
    if (next === state) return;
    state = next;
    if (state.phase === 'lost' && event.event === 'closed') nextAttempt = setTimeout(open, pauseBeforeAttempt(state));
    onState(state);
  }

  function send(message: Record<string, unknown>): void {
    if (state.phase === 'talking' && socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
  }

  function receive(message: ServerMessage): void {
    if (message.event === 'media') onAudio(bytesOf(message.payload));
    else if (message.event === 'mark') onMark(message.name);
    else if (message.event === 'clear') onClear();
    else apply(message);
  }

  function open(): void {
    if (state.phase === 'ended') return;
    const opened = new WebSocket(url);
    const { token: admission } = state;
    socket = opened;
    clock = createFrameClock();
    opened.addEventListener('open', () => opened.send(JSON.stringify({ event: 'start', token: admission })));
    opened.addEventListener('message', ({ data }: MessageEvent<string>) => receive(JSON.parse(data) as ServerMessage));
    opened.addEventListener('close', () => {
      // Audio that has not been played belongs to the lost connection.
      onClear();
      apply({ event: 'closed', nowMs: performance.now() });
    });
  }

  open();
  return {
    /** Sends one frame of the microphone: 20 ms of mu-law at 8 kHz. */
    sendAudio: (audio: Uint8Array) =>
      send({ event: 'media', timestamp: clock(performance.now()), payload: base64Of(audio) }),
    sendText: (text: string) => send({ event: 'text', text }),
    sendDigits: (digits: string) => send({ event: 'digits', digits }),
    /** Reports that all audio before a mark has been played. */
    sendMark: (name: string) => send({ event: 'mark', name }),
    hangUp(): void {
      send({ event: 'stop' });
      clearTimeout(nextAttempt);
      apply({ event: 'ended', reason: 'hung_up' });
      socket?.close();
    },
  };
}

/**
 * Returns the time of each frame since the first one, in ms. Frames arrive in bursts, so their number tells the time more
 * exactly than the clock, unless the microphone paused.
 */
function createFrameClock(): (nowMs: number) => number {
  let startMs: number | undefined;
  let next = 0;
  return (nowMs) => {
    startMs ??= nowMs;
    const passed = nowMs - startMs;
    const at = passed - next > PAUSE_MS ? Math.round(passed) : next;
    next = at + FRAME_MS;
    return at;
  };
}

function base64Of(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}
