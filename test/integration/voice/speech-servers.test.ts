import { Agent } from 'undici';
import { SilentProviderError } from '../../../src/voice/engines/pipeline/ports.js';
import { createOpenAiTts } from '../../../src/voice/engines/pipeline/tts/openai-speech.js';
import { openFakeOpenAiSpeech, type FakeVoice } from './fakes/voices';
import { eventually } from './support/media-fixture';

interface Result {
  spoken: string;
  bytes: number;
  fault?: string;
  isSilence?: boolean;
}

describe('a self-hosted server of /audio/speech', () => {
  const dispatcher = new Agent();
  let fake: FakeVoice;
  beforeEach(async () => {
    fake = await openFakeOpenAiSpeech();
    fake.lists.models = ['kokoro'];
  });
  afterEach(() => fake.close());
  afterAll(() => dispatcher.destroy());

  /** Speaks the sentences, with a deadline of 400 ms. */
  async function speak(...sentences: string[]): Promise<Result> {
    const result: Result = { spoken: '', bytes: 0 };
    let isOver = false;
    const account = { apiKey: 'tts-key', model: 'kokoro', voiceIdOf: () => 'voice-amber' };
    const stream = createOpenAiTts(
      { ...account, baseUrl: `http://127.0.0.1:${fake.port}/v1` },
      { dispatcher, timeoutMs: 400 },
    ).open(
      { voice: 'amber', language: 'en-US', settings: {} },
      {
        onAudio: (mulaw) => void (result.bytes += mulaw.length),
        onSpoken: (text) => void (result.spoken += text),
        onDone: () => void (isOver = true),
        onLost(error) {
          result.fault = error.message;
          if (error instanceof SilentProviderError) result.isSilence = true;
          isOver = true;
        },
      },
    );
    for (const sentence of sentences) stream.say(sentence);
    stream.finish();
    await eventually(() => isOver);
    return result;
  }

  it('may make one sentence after the other, each within the deadline', async () => {
    fake.serial = true;
    fake.delayMs = 250;
    const { fault, spoken } = await speak('The first.', 'The second.', 'The third.', 'The last.');
    expect({ fault, spoken }).toEqual({ fault: undefined, spoken: 'The first. The second. The third. The last. ' });
    expect(fake.texts).toHaveLength(4);
  });

  it('is given up if it hangs at a later sentence', async () => {
    fake.serial = true;
    fake.faultOf = (text) => (text === 'The second.' ? { kind: 'stall' } : undefined);
    const { fault, isSilence, spoken } = await speak('The first.', 'The second.', 'The third.');
    expect(fault).toBe('the text-to-speech provider sent nothing for 400 ms');
    // The text may be the cause, such as signs without a sound.
    expect(isSilence).toBe(true);
    expect(spoken).toBe('The first. ');
  });

  it('may give PCM the type of another format', async () => {
    fake.contentType = 'audio/mpeg';
    expect(await speak('The first.')).toMatchObject({ spoken: 'The first. ' });
  });

  it.each([
    [{ models: ['tts-1'] }, 404],
    [{ voices: [] }, 400],
  ])('rejects a model or voice that it does not have: %j', async (lists, status) => {
    Object.assign(fake.lists, lists);
    const { fault } = await speak('The first.');
    expect(fault).toBe(`the text-to-speech provider responded with status ${status}`);
  });

  it.each([
    ['audio/mpeg', '\xff\xfb'],
    ['audio/wav', 'RIFF'],
    ['application/octet-stream', 'RIFF'],
    ['audio/pcm', 'ID3'],
    ['application/octet-stream', 'OggS'],
    ['audio/flac', 'fLaC'],
  ])('is given up before a sound if it sends %s that begins with %j instead of pcm', async (type, head) => {
    fake.faultOf = () => ({ kind: 'format', type, head });
    expect(await speak('The first.')).toEqual({
      spoken: '',
      bytes: 0,
      fault: 'the text-to-speech provider returned audio in another format than pcm',
    });
  });
});
