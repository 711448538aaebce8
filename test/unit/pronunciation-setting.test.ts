import type { TtsEvents } from '../../src/voice/engines/pipeline/ports.js';
import { withPronunciations } from '../../src/voice/engines/pipeline/tts/pronunciation.js';

const WORDS = [
  { text: '-', spoken: 'x'.repeat(100) },
  { text: 'Nginx', spoken: 'engine X' },
  { text: 'US', spoken: 'United States' },
  { text: 'C++', spoken: 'C plus plus' },
  { text: 'New York Inc.', spoken: 'the company' },
  { text: '東京', spoken: 'とうきょう' },
];

/** Speaks texts. @returns what TTS received, and a function that reports spoken characters and gives the written ones */
function speak(...texts: string[]) {
  const received: string[] = [];
  const reported: string[] = [];
  let tell: TtsEvents['onSpoken'] = () => undefined;
  const voice = withPronunciations(
    {
      open(_options, events) {
        tell = (words) => events.onSpoken(words);
        return { say: (text) => void received.push(text), finish: () => undefined, cancel: () => undefined };
      },
    },
    WORDS,
  );
  const nothing = () => undefined;
  const events = {
    onAudio: nothing,
    onSpoken: (words: string) => void reported.push(words),
    onDone: nothing,
    onLost: nothing,
  };
  const stream = voice.open({ voice: 'amber', language: 'en-US', settings: {} }, events);
  for (const text of texts) stream.say(text);
  return { received, reported, tell: (count: number) => tell('x'.repeat(count)) };
}

describe('words with a pronunciation of the agent', () => {
  it.each([
    ['We use nginx, and Nginx!', 'We use engine X, and engine X!'],
    ['Nginxes and xNginx are not words.', 'Nginxes and xNginx are not words.'],
    ['The US called us.', 'The United States called us.'],
    ['C++ or C?', 'C plus plus or C?'],
    ['I am of New York Inc. today.', 'I am of the company today.'],
    ['東京に行く', 'とうきょうに行く'],
    ['$1 $& \\1', '$1 $& \\1'],
  ])('are spoken so: %s', (written, spoken) => {
    expect(speak(written).received).toEqual([spoken]);
  });

  it('are reported as they are written, once they were spoken to the end', () => {
    const { reported, tell } = speak('Our Nginx runs.', 'Well.');
    tell('Our eng'.length);
    tell('ine X ru'.length);
    tell('ns. Well. '.length);
    expect(reported).toEqual(['Our ', 'Nginx ru', 'ns. Well. ']);
  });

  it('are spoken as they are written once the spoken text gets much longer', () => {
    const { received } = speak(`b${'-'.repeat(100)}`, '-'.repeat(100), 'Nginx.');
    expect(received.join('').length).toBeLessThanOrEqual(2 * 207 + 200);
    expect(received[0]).toContain(`${'x'.repeat(200)}-`);
    expect(speak('-', '-', '-').received.map(({ length }) => length)).toEqual([100, 100, 1]);
  });

  it('are found in linear time', () => {
    const began = performance.now();
    speak('Nginx '.repeat(20_000), 'N'.repeat(100_000));
    expect(performance.now() - began).toBeLessThan(2_000);
  });
});
