import { FLITE_VOICES } from '../../src/voice/audio/flite.js';
import { findVoice } from '../../src/voice/engines/voices.js';
import { ENGINE_NAMES } from '../../src/kernel/conversation/engines.js';
import { LANGUAGES, languagesOf, voiceFault, VOICES, voicesOf } from '../../src/kernel/conversation/voices.js';

describe('the voices', () => {
  it('have a unique name and sound on every engine', () => {
    expect(new Set(VOICES.map(({ name }) => name)).size).toBe(VOICES.length);
    const spoken = VOICES.map(({ name }) => findVoice(name));
    expect(spoken.map(({ name }) => name)).toEqual(VOICES.map(({ name }) => name));
    expect(spoken.map(({ flite }) => flite).toSorted()).toEqual([...FLITE_VOICES].toSorted());
    expect(new Set(spoken.map(({ openai }) => openai)).size).toBe(VOICES.length);
  });

  it('speak known languages only, and English only on the offline engine', () => {
    const tags = new Set(LANGUAGES.map(({ tag }) => tag));
    for (const { languages } of VOICES) {
      for (const language of Object.values(languages).flat()) expect(tags).toContain(language);
      expect(languages['offline-demo']).toEqual(['en-US']);
    }
  });

  it('replace an unknown voice with the default voice', () => {
    expect(findVoice('jade')).toEqual(findVoice('amber'));
  });
});

describe('voiceFault', () => {
  it.each([
    ['amber', 'en-US', ENGINE_NAMES],
    ['cobalt', 'de-DE', ['openai-realtime'] as const],
    ['cobalt', 'de-DE', ENGINE_NAMES],
  ])('accepts %s for %s', (voice, language, engines) => {
    expect(voiceFault({ voice, language }, engines)).toBeUndefined();
  });

  it.each([
    ['jade', 'en-US', /^voice: jade is not available on the engines .*; use one of amber, cobalt, slate, copper$/],
    ['amber', 'de-DE', /^language: the voice amber does not speak de-DE on the engine offline-demo; use one of en-US$/],
    ['amber', 'tlh', /^language: .*tlh/],
  ])('rejects %s for %s', (voice, language, fault) => {
    const engines = language === 'de-DE' ? (['offline-demo'] as const) : ENGINE_NAMES;
    expect(voiceFault({ voice, language }, engines)).toMatch(fault);
  });
});

describe('the lists of voices and languages', () => {
  it('contain the same pairs', () => {
    const engines = ['pipeline', 'offline-demo'] as const;
    const byVoice = voicesOf(engines).flatMap((voice) =>
      voice.engines.flatMap(({ engine, languages }) => languages.map((tag) => `${engine} ${voice.name} ${tag}`)),
    );
    const byLanguage = languagesOf(engines).flatMap((language) =>
      language.engines.flatMap(({ engine, voices }) => voices.map((name) => `${engine} ${name} ${language.tag}`)),
    );
    expect(byVoice.length).toBeGreaterThan(VOICES.length);
    expect(byLanguage.toSorted()).toEqual(byVoice.toSorted());
    for (const pair of byVoice) {
      const [, voice = '', language = ''] = pair.split(' ');
      expect(voiceFault({ voice, language }, engines)).toBeUndefined();
    }
  });

  it('omit voices and languages that the service’s engines do not support', () => {
    expect(languagesOf(['offline-demo'])).toEqual([
      {
        tag: 'en-US',
        name: 'English (United States)',
        engines: [{ engine: 'offline-demo', voices: VOICES.map(({ name }) => name) }],
      },
    ]);
    expect(voicesOf([])).toEqual([]);
  });
});
