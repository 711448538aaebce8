import { createSynthesizer } from '../../src/voice/audio/flite.js';
import { decodeMulaw, encodeMulaw, MULAW_SILENCE } from '../../src/voice/audio/mulaw.js';
import { createTurnTaking } from '../../src/voice/session/turn-taking.js';
import type { CallerTurn } from '../../src/voice/session/turn-taking.js';
import { loadVoiceActivity } from '../../src/voice/audio/voice-activity.js';

const silence = (ms: number) => new Uint8Array(ms * 8).fill(MULAW_SILENCE);

describe('turn detection', () => {
  const synthesizer = createSynthesizer();
  let newDetector: Awaited<ReturnType<typeof loadVoiceActivity>>;
  let sentence: Uint8Array;
  beforeAll(async () => {
    newDetector = await loadVoiceActivity();
    sentence = await synthesizer.speak('I would like to book a table for two on Friday.', 'rms');
  });
  afterAll(() => synthesizer.close());

  /** Feeds audio in frames and drops every `lost`th frame. */
  function listen(parts: readonly Uint8Array[], lost = Infinity, certainty?: number) {
    const turns = createTurnTaking(newDetector());
    if (certainty !== undefined) turns.requireCertainty(certainty);
    const audio = Buffer.concat(parts);
    const ended: CallerTurn[] = [];
    let longestVoiceMs = 0;
    for (let i = 0; (i + 1) * 160 <= audio.length; i++) {
      if (i % lost === lost - 1) continue;
      const update = turns.push(audio.subarray(i * 160, (i + 1) * 160), i * 20);
      longestVoiceMs = Math.max(longestVoiceMs, update.voiceMs);
      if (update.ended) ended.push(update.ended);
    }
    const openTurn = turns.openTurn();
    turns.free();
    return { ended, longestVoiceMs, openTurn };
  }

  it('detects quiet speech only with a lower certainty of voice activity detection', () => {
    const quiet = encodeMulaw(decodeMulaw(sentence).map((sample) => sample / 30));
    const audio = [silence(1_000), quiet, silence(1_000)];
    const turnsAt = (certainty?: number) => listen(audio, Infinity, certainty).ended.length;
    expect([undefined, 1, 0.75].map(turnsAt)).toEqual([0, 0, 0]);
    expect([0.5, 0.25, 0].map((certainty) => turnsAt(certainty) > 0)).toEqual([true, true, true]);
  });

  it('detects a sentence as one turn with its times', () => {
    const { ended, longestVoiceMs } = listen([silence(1_000), sentence, silence(1_000)]);
    expect(ended).toHaveLength(1);
    const lengthMs = sentence.length / 8;
    expect(ended[0]?.startMs).toBeGreaterThanOrEqual(900);
    expect(ended[0]?.startMs).toBeLessThan(1_400);
    expect(ended[0]?.endMs).toBeGreaterThan(1_000 + lengthMs - 500);
    expect(ended[0]?.endMs).toBeLessThan(1_000 + lengthMs + 300);
    expect(longestVoiceMs).toBeGreaterThan(lengthMs * 0.6);
  });

  it('detects no turn in silence, faint noise or a click', () => {
    const noise = encodeMulaw(Int16Array.from({ length: 16_000 }, (_, i) => ((i * 7_919) % 61) - 30));
    const click = encodeMulaw(Int16Array.from({ length: 160 }, (_, i) => (i % 2 === 0 ? 8_000 : -8_000)));
    expect(listen([silence(1_000), noise, silence(400), click, silence(1_000)])).toMatchObject({ ended: [] });
  });

  it('treats a short pause as part of a turn and a second as its end', () => {
    expect(listen([sentence, silence(300), sentence, silence(1_000)]).ended).toHaveLength(1);
    expect(listen([sentence, silence(1_000), sentence, silence(1_000)]).ended).toHaveLength(2);
  });

  it('detects the same turns when one frame in twenty is lost', () => {
    expect(listen([silence(500), sentence, silence(1_000), sentence, silence(1_000)], 20).ended).toHaveLength(2);
  });

  it('keeps the turn open while the caller does not pause', () => {
    const { ended, openTurn } = listen([sentence, sentence.subarray(0, 8_000)]);
    expect(ended).toEqual([]);
    expect(openTurn).toBeDefined();
  });
});
