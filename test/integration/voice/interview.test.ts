import { buffer } from 'node:stream/consumers';
import { createSynthesizer } from '../../../src/voice/audio/flite.js';
import type { Grammar } from '../../../src/voice/audio/grammar.js';
import { encodeMulaw } from '../../../src/voice/audio/mulaw.js';
import { createGrammarStt } from '../../../src/voice/audio/grammar-stt.js';
import { brief } from '../../support/spoken';
import { eventually, openMediaFixture } from './support/media-fixture';
import type { MediaFixture } from './support/media-fixture';

const TEMPLATE = JSON.stringify({ appointment_confirmed: false, code: null, size: 'small|medium|large' });

describe('an agent with questions', () => {
  let media: MediaFixture;
  const synthesizer = createSynthesizer();
  const stt = createGrammarStt();
  beforeAll(async () => {
    media = await openMediaFixture();
  });
  afterAll(async () => {
    await media.close();
    await Promise.all([synthesizer.close(), stt.close()]);
  });

  async function recognize(mulaw: Uint8Array, grammar: Grammar): Promise<string> {
    const heard = await stt.recognize(mulaw, grammar);
    return brief(heard.outcome === 'understood' ? heard.meaning : undefined);
  }

  it('asks, understands, and records both sides intelligibly', async () => {
    const call = await media.placeCall({ agent: { outputParameters: TEMPLATE } });
    const line = await media.openLine(call);
    const turns = async () => (await media.results.find(call.callId))?.turns ?? [];
    for (const [index, answer] of ['Yes.', 'Four one five two.', 'Yes, that is right.', 'Large.'].entries()) {
      // Waits until the agent has asked its next question and the line has played the question to its end.
      await eventually(async () => (await turns()).length === 2 * index + 1 && !line.isPlaying(), 60_000);
      line.say(await synthesizer.speak(answer, 'rms'));
    }
    expect(await line.closed).toBe(1_000);

    const result = await media.results.find(call.callId);
    expect(result).toMatchObject({ endReason: 'agent_hangup', answeredBy: 'human', hasRecording: true });
    expect(JSON.parse(result?.outputParameters ?? '')).toEqual({
      appointment_confirmed: true,
      code: '4152',
      size: 'large',
    });
    expect(result?.turns.map(({ speaker, text }) => `${speaker}: ${text}`)).toEqual([
      'agent: Hello. This is an automated assistant. I am calling about your table for two. ' +
        'Appointment confirmed? Please say yes or no.',
      'caller: yes',
      'agent: Thank you. What is your code? Please say or enter the digits.',
      'caller: four one five two',
      'agent: I heard 4, 1, 5, 2. Is that right?',
      'caller: yes that is right',
      'agent: Thank you. Which size: small, medium or large?',
      'caller: large',
      'agent: Thank you. That is all I need to know. Goodbye.',
    ]);

    const [, , , spoken, readBack] = result?.turns ?? [];
    const recording = await media.recordings.read(call.callId);
    if (recording === null || spoken === undefined || readBack === undefined) throw new Error('there is no recording');
    const wav = await buffer(recording.open());
    const caller = between(wav, 'left', spoken.startMs - 300, spoken.endMs + 300);
    expect(await recognize(caller, { kind: 'digits' })).toBe('4152');
    const agent = between(wav, 'right', readBack.startMs - 300, readBack.endMs + 300);
    const readBacks = ['4153', '7152', '4152', '4192', '415'].map((digits) => `I heard ${digits}. Is that right?`);
    expect(await recognize(agent, { kind: 'choices', choices: readBacks })).toBe('choice 2');
    // Each party is on one track of the recording only, so the agent's track does not contain the digits of the caller.
    // It may contain the first words of the agent's read-back.
    expect(await recognize(between(wav, 'right', spoken.startMs, spoken.endMs), { kind: 'digits' })).not.toBe('4152');
  }, 120_000);
});

/** One side of a stereo recording between two times, as mu-law. */
function between(wav: Buffer, side: 'left' | 'right', fromMs: number, toMs: number): Uint8Array {
  const from = Math.max(0, fromMs) * 8;
  const to = Math.min(toMs * 8, (wav.length - 44) / 4);
  const at = side === 'left' ? 44 : 46;
  return encodeMulaw(Int16Array.from({ length: to - from }, (_, i) => wav.readInt16LE(at + (from + i) * 4)));
}
