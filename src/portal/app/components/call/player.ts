/** The state of a playing recording, as a page shows it. Times are in seconds. */
export interface PlayerState {
  time: number;
  /** 0 until the browser knows it. */
  duration: number;
  isPlaying: boolean;
  rate: number;
  /** Whether the browser cannot play the recording. */
  hasFailed: boolean;
}

export type Player = ReturnType<typeof createPlayer>;

const NOTHING: PlayerState = { time: 0, duration: 0, isPlaying: false, rate: 1, hasFailed: false };
const EVENTS = [
  'timeupdate',
  'seeking',
  'seeked',
  'durationchange',
  'play',
  'pause',
  'ended',
  'ratechange',
  'error',
] as const;

/** Plays a recording and tells the parts of a page about it, at each frame while it plays. */
export function createPlayer() {
  const listeners = new Set<() => void>();
  let audio: HTMLAudioElement | null = null;
  let frame = 0;

  function tell(): void {
    for (const listener of listeners) listener();
    cancelAnimationFrame(frame);
    if (audio?.paused === false) frame = requestAnimationFrame(tell);
  }

  function play(): void {
    // The element reports a failure by the event `error`.
    audio?.play().catch(() => undefined);
  }

  return {
    read: (): PlayerState =>
      audio === null
        ? NOTHING
        : {
            time: audio.currentTime,
            duration: Number.isFinite(audio.duration) ? audio.duration : 0,
            isPlaying: !audio.paused,
            rate: audio.playbackRate,
            hasFailed: audio.error !== null,
          },

    /** Calls `listener` at each change. @returns a function that ends this */
    subscribe(listener: () => void): () => void {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },

    /** Sets the element that plays; null when the page no longer has one. */
    attach(element: HTMLAudioElement | null): void {
      for (const name of EVENTS) audio?.removeEventListener(name, tell);
      audio = element;
      for (const name of EVENTS) audio?.addEventListener(name, tell);
      tell();
    },

    seek(seconds: number): void {
      if (audio === null) return;
      audio.currentTime = Math.max(0, seconds);
      tell();
    },

    playFrom(seconds: number): void {
      this.seek(seconds);
      play();
    },

    toggle(): void {
      if (audio?.paused === false) audio.pause();
      else play();
    },

    setRate(rate: number): void {
      if (audio !== null) audio.playbackRate = rate;
    },
  };
}
