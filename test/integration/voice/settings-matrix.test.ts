import { matrixCells, type MatrixCell } from '../../support/settings-matrix';
import { WIRES, type Wire } from './support/setting-wires';

const TERMS = 'Callwright|Dr. Nguyen';

/**
 * The fields that the fake of each provider receives for the settings that it supports; the fakes reject unknown fields and values out
 * of range. A setting that the support table marks as sent and that has no line here fails.
 */
const EXPECTED: Record<string, Wire> = {
  'model on openai-realtime': { model: 'gpt-realtime-2' },
  'model on openai-chat': { model: 'gpt-6-luna' },
  'model on openai-responses': { model: 'gpt-6-luna' },
  'temperature on openai-chat': { temperature: 0.7 },
  'temperature on openai-responses': { temperature: 0.7 },
  'reasoning_effort on openai-realtime': { effort: 'low' },
  'reasoning_effort on openai-chat': { effort: 'low' },
  'reasoning_effort on openai-responses': { effort: 'low' },
  'voice_id on openai-realtime': { voice: 'coral' },
  'voice_id on elevenlabs': { voice: 'coral' },
  'voice_id on openai-speech': { voice: 'coral' },
  'speech_speed on openai-realtime': { speed: 1.1 },
  'speech_speed on elevenlabs': { speed: 1.1 },
  'speech_speed on openai-speech': { speed: 1.1 },
  'keyterms on openai-realtime': { keywords: TERMS },
  'keyterms on deepgram-nova': { keyterm: TERMS },
  'keyterms on deepgram-flux': { keyterm: TERMS },
  'keyterms on openai-transcription': { 'keywords[]': TERMS },
  'end_of_turn_silence_ms on openai-realtime': { silence: 700 },
  'end_of_turn_silence_ms on deepgram-flux': { eot_timeout_ms: '700' },
  'end_of_turn_eagerness on openai-realtime': { eagerness: 'high' },
  'end_of_turn_confidence on deepgram-flux': { eot_threshold: '0.8' },
  'vad_threshold on openai-realtime': { threshold: 0.6 },
  'noise_reduction on openai-realtime': { noise: 'near_field' },
  'first_message on openai-realtime': {
    firstWords:
      'Say exactly the following, word for word, and nothing else: ⟦You are speaking with an AI assistant. Hello .⟧',
  },
  'pronunciations on openai-realtime': { pronounces: '- Pronounce ⟦Nginx⟧ as ⟦engine X⟧.' },
};

/** A realtime model has another name than a chat model. */
const settingsOf = ({ column, settings }: MatrixCell) =>
  column === 'openai-realtime' && settings.model !== undefined ? { model: 'gpt-realtime-2' } : settings;

describe('each setting that a provider supports', () => {
  const cells = matrixCells('sent');

  it('is expected by this test, and no other', () => {
    expect(Object.keys(EXPECTED).toSorted()).toEqual(cells.map(({ key }) => key).toSorted());
  });

  it.each(cells.map((cell) => [cell.key, cell] as const))('reaches the provider: %s', async (key, cell) => {
    const send = WIRES[cell.column];
    if (send === undefined) throw new Error(`there is no fake of ${cell.column}`);
    const expected = EXPECTED[key];
    expect(expected).toBeDefined();
    expect(await send(settingsOf(cell))).toMatchObject(expected ?? {});
    expect(await send({})).not.toMatchObject(expected ?? {});
  });
});
