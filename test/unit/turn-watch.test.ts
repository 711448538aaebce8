import { MULAW_SILENCE } from '../../src/voice/audio/mulaw.js';
import { createTurnWatch, silenceInTurnMs } from '../../src/voice/engines/realtime/turn-watch.js';

const FRAME = new Uint8Array(160).fill(MULAW_SILENCE);

/** A watch whose clock advances by 20 ms with each frame. */
function openWatch() {
  let atMs = 0;
  let openedAtMs: number | undefined;
  let isVoice = false;
  let asked = 0;
  const detector = {
    isVoice() {
      asked += 1;
      return isVoice;
    },
    setThreshold: () => undefined,
    free: () => undefined,
  };
  const watch = createTurnWatch({ detector, now: () => atMs, openedAtMs: () => openedAtMs });
  return {
    watch,
    asked: () => asked,
    turn: (isOpen: boolean) => void (openedAtMs = isOpen ? atMs : undefined),
    hears: (voice: boolean, ms: number): void => {
      isVoice = voice;
      for (const untilMs = atMs + ms; atMs < untilMs;) {
        atMs += 20;
        watch.push(FRAME);
      }
    },
  };
}

describe('the silence of the caller in a turn', () => {
  it('is measured from the caller’s last voice, while the provider has not ended the turn', () => {
    const { watch, turn, hears } = openWatch();
    turn(true);
    hears(true, 1_000);
    expect(watch.silentMs()).toBe(0);
    hears(false, 4_000);
    expect(watch.silentMs()).toBeGreaterThan(3_900);
    hears(true, 200);
    expect(watch.silentMs()).toBe(0);
    hears(false, 1_000);
    turn(false);
    expect(watch.silentMs()).toBe(0);
    turn(true);
    hears(false, 20);
    expect(watch.silentMs()).toBe(20);
  });

  it('is not broken by a click', () => {
    const { watch, turn, hears } = openWatch();
    turn(true);
    for (let second = 0; second < 4; second += 1) {
      hears(false, 960);
      hears(true, 40);
    }
    expect(watch.silentMs()).toBeGreaterThan(3_900);
  });

  it('needs no voice activity detection outside turns', () => {
    const { hears, asked } = openWatch();
    hears(true, 1_000);
    expect(asked()).toBe(0);
  });

  it.each([
    [{ type: 'server_vad', silenceMs: 500 } as const, 4_500],
    [{ type: 'semantic_vad', eagerness: 'low' } as const, 12_000],
    [{ type: 'semantic_vad', eagerness: 'auto' } as const, 8_000],
  ])('may be as long as the provider waits with %j, and 4 s', (turnDetection, expected) => {
    expect(silenceInTurnMs({ turnDetection }, 4_000)).toBe(expected);
  });
});
