import { hasTerms, termsOfCall, termsOfSearch, termsOfTranscription } from '../../src/calls/search/search-terms.js';

const call = { fromPhoneNumber: '+12025550199', toPhoneNumber: '+4917012345', externalCallId: 'Order-0047/B' };

const finds = (search: string, terms: readonly string[]) => hasTerms(terms, termsOfSearch(search));

describe('the search terms of a call', () => {
  const terms = termsOfCall(call);

  it.each([
    '+12025550199',
    '(202) 555-0199',
    '0199',
    '202 555',
    '+49 170 12345',
    '0170 12345',
    '0049-170/12345',
    '5550',
  ])('find a phone number by %s', (search) => {
    expect(finds(search, terms)).toBe(true);
  });

  it.each(['Order-0047/B', 'order 0047', 'ORD', '47', 'b order', '0000047'])('find an external id by %s', (search) => {
    expect(finds(search, terms)).toBe(true);
  });

  it.each(['+12025550198', '99', 'rder', '4711'])('do not contain %s', (search) => {
    expect(finds(search, terms)).toBe(false);
  });

  it('find digits with punctuation as an id, too', () => {
    expect(finds('2026-11-23', termsOfCall({ ...call, externalCallId: '2026-11-23-7' }))).toBe(true);
  });

  it('are bounded, whatever the id', () => {
    const externalCallId = Array.from({ length: 127 }, (_, n) => String.fromCodePoint(0x4e00 + n)).join('a');
    expect(termsOfCall({ ...call, externalCallId }).length).toBeLessThanOrEqual(40 + 2 * 12 + 40);
    expect(termsOfCall({ fromPhoneNumber: '', toPhoneNumber: '', externalCallId: '' })).toEqual([]);
  });
});

describe('the search terms of a transcription', () => {
  const terms = termsOfTranscription(
    'agent: Guten Tag, Herr Müller.\ncaller: It’s the ÉCLAIR with 1,250 calories.\nagent: 明日は大雨です',
  );

  it('are its words without case and accents, and without the names of the speakers', () => {
    expect(terms.slice(0, 12)).toEqual(
      ['guten', 'tag', 'herr', 'muller', 'its', 'the', 'eclair', 'with', '1', '250', 'calories'].concat(['明日']),
    );
    for (const speaker of ['agent', 'caller']) expect(finds(speaker, terms)).toBe(false);
  });

  it.each(['müller', 'MULL eclair', "it's", '大雨', '雨', 'す', '明日は大雨'])('are found by %s', (search) => {
    expect(finds(search, terms)).toBe(true);
  });

  it('are the same words however the text is divided', () => {
    const words = Array.from({ length: 400 }, (_, n) => `word${n}`);
    expect(termsOfTranscription(words.join(' '))).toEqual(words);
    const characters = Array.from({ length: 900 }, (_, n) => String.fromCodePoint(0x4e00 + n));
    const pairs = characters.slice(1).map((character, before) => `${characters[before]}${character}`);
    expect(termsOfTranscription(characters.join(''))).toEqual(expect.arrayContaining(pairs));
  });

  it.each(['uller', 'muller cake', '大明'])('are not found by %s', (search) => {
    expect(finds(search, terms)).toBe(false);
  });

  it('are bounded in number and length, and made in bounded time', () => {
    const words = Array.from({ length: 400_000 }, (_, n) => `w${n}`).join(' ');
    const startedAt = performance.now();
    expect(termsOfTranscription(words)).toHaveLength(1_000);
    expect(termsOfTranscription('abcd '.repeat(400_000))).toEqual(['abcd']);
    expect(termsOfTranscription('x'.repeat(2_000_000))).toEqual(['x'.repeat(32)]);
    expect(termsOfTranscription('大'.repeat(700_000))).toEqual(['大大', '大']);
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  });
});

describe('the terms of a search', () => {
  it('find longer terms from three letters on, because shorter ones begin too many', () => {
    const terms = ['appointment', 'at', 'ten', '会議'];
    expect(['app', 'at', 'ten', '会'].filter((search) => !finds(search, terms))).toEqual([]);
    expect(['a', 'ap', 'te'].filter((search) => finds(search, terms))).toEqual([]);
  });

  it.each(['', ' ', '+-()', '!?'])('are none for %j, so that it finds no call', (search) => {
    expect(termsOfSearch(search)).toEqual([]);
  });

  it('are ten at most, with letters and digits only', () => {
    const [terms = []] = termsOfSearch('^a.* $b (c) [d] e|f {g} h\\i j/k l+ m? n');
    expect(terms).toEqual(Array.from('abcdefghij'));
  });
});
