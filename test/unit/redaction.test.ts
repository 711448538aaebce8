import fc from 'fast-check';
import { REDACTED_KINDS, type RedactedKind } from '../../src/kernel/conversation/storage.js';
import { redactTexts } from '../../src/kernel/redaction/redact.js';
import { createPhoneNumberCheck } from '../../src/platform/numbering/phone-number-check.js';
import { SPELLINGS } from '../support/number-spellings.js';

/** With input of this length, a quadratic search takes minutes. */
const LONG = 100_000;
const MOST_CPU_MS = 4_000;
/** The longest turn that somebody can type has this length. */
const TYPED = 1_000;
/** It takes about 3.5 ms at most, nearly all of it in libphonenumber. */
const MOST_CPU_OF_TURN_MS = 10;

const check = createPhoneNumberCheck();
const redact = (texts: readonly string[], regions = ['US'], kinds: readonly RedactedKind[] = REDACTED_KINDS) =>
  redactTexts(texts, { kinds, isPhoneNumber: (digits) => check.isPhoneNumber(digits, regions) });

beforeAll(() => check.load());

describe('redaction', () => {
  it.each([
    ['It is 4111111111111111, thanks.', 'It is [card number], thanks.'],
    ['It is 4111 1111-1111.1111 12/28.', 'It is [card number] 12/28.'],
    ['4111, 1111, 1111, 1111', '[card number]'],
    ['My Amex is 3782 822463 10005', 'My Amex is [card number]'],
    ['41111111111111111228', '[card number]1228'],
    ['(keys: 4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 #)', '(keys: [card number] #)'],
    ['four one one one, one one one one, uh, one one one one one one one one.', '[card number].'],
    ['Four triple one double one eleven, eleven eleven eleven eleven', '[card number]'],
    ['vier eins eins eins eins eins eins eins eins eins eins eins eins eins eins eins', '[card number]'],
    ['Forty one eleven eleven eleven eleven eleven eleven eleven', '[card number]'],
    ['٤١١١ ١١١١ ١١١١ ١١١١', '[card number]'],
    ['{"card":"4111111111111111"}', '{"card":"[card number]"}'],
    ['Call +1 (202) 555-0123 now.', 'Call [phone number] now.'],
    ['Call 202-555-0123, or (202) 555 0124.', 'Call [phone number], or [phone number].'],
    ['two oh two, five five five, oh one two three', '[phone number]'],
    ['plus four four two oh seven nine four six oh one two three', '[phone number]'],
    ['Rufen Sie 0044 20 7946 0123 an', 'Rufen Sie [phone number] an'],
    ['ada.lovelace+x@mail.example.com!', '[email address]!'],
    ['Write to ada @ example.org.', 'Write to [email address].'],
    ['It is ada dot lovelace at example dot com.', 'It is [email address].'],
    ['a d a 4 7 at my shop dot co dot uk please', 'a [email address] please'],
    ['ada at gmail.com', '[email address]'],
    ['ada arroba ejemplo punto es', '[email address]'],
    ['jürgen@müller.de', '[email address]'],
    ['ada\uff20example.com', '[email address]'],
    ['ada(at)example.com or ada[at]example[dot]com', '[email address] or [email address]'],
    ['ada (at) example (dot) com', '[email address]'],
    ['4111_1111:1111;1111', '[card number]'],
    ['4111|1111*1111…1111', '[card number]'],
    ['4111     1111\u200b1111 1111', '[card number]'],
    [String.raw`{"card":"4111\n1111\u00a011111111"}`, '{"card":"[card number]"}'],
    ['\u{1d7dc}\u{1d7d9}\u{1d7d9}\u{1d7d9} 1111 1111 1111', '[card number]'],
    ['4\ufe0f\u20e31\ufe0f\u20e31\ufe0f\u20e31\ufe0f\u20e3 1111 1111 1111', '[card number]'],
    ['4111 okay 1111 yes 1111, ja, 1111', '[card number]'],
    ['einundvierzig elf elf elf elf elf elf elf', '[card number]'],
    ['cuarenta y uno once once once once once once once', '[card number]'],
    ['quarante et un onze onze onze onze onze onze onze', '[card number]'],
  ])('replaces %s', (text, expected) => {
    expect(redact([text])).toEqual([expected]);
  });

  it.each(SPELLINGS)('replaces the spelling %s', (text) => {
    const [replaced] = redact([`Call ${text}, please.`]);
    expect(replaced).toContain('[phone number]');
    expect(replaced).not.toMatch(/\p{Nd}{2}|[%+\\]/u);
  });

  it.each([
    ['a number with a wrong check digit', '4111 1111 1111 1112'],
    ['a short number', 'Room 4711, floor 12, code 55512.'],
    ['a number that nobody has', 'My number is 555-0123.'],
    ['times, dates and prices', 'On 2026-11-27 at 10:30 for 1,234.56 dollars, item 90210.'],
    ['words of numbers', 'Two of the seven, and one or nine, at the point of no return dot.'],
    ['words around an at sign', 'We are at this point in time, look at the dot in the middle.'],
    ['zeros', '0000 0000 0000 0000'],
    ['an at sign without a domain', 'I am @home and a@b.'],
  ])('leaves %s', (_what, text) => {
    expect(redact([text])).toEqual([text]);
  });

  it('replaces only what it is asked for', () => {
    const text = '4111 1111 1111 1111, +12025550123, ada@example.com';
    expect(redact([text], [], ['email_addresses'])).toEqual(['4111 1111 1111 1111, +12025550123, [email address]']);
    expect(redact([text], [], ['card_numbers'])).toEqual(['[card number], +12025550123, ada@example.com']);
  });

  it('knows national numbers of the regions of a call, with their trunk prefix', () => {
    expect(redact(['030 901820, 20261127'], ['DE'])).toEqual(['[phone number], 20261127']);
    expect(redact(['030 901820'], ['US'])).toEqual(['030 901820']);
    expect(check.regionsOf(['+493090182000', 'web:Ada', '+12025550123'], 'fr')).toEqual(['DE', 'US', 'FR']);
  });

  it.each([
    ['zéro six douze trente-quatre cinquante-six soixante-dix-huit', 'FR'],
    ['zéro un quarante-deux quatre-vingt-quinze soixante et onze dix-sept', 'FR'],
    ['zéro quatre vingt-deux trente trente-deux quatre-vingts', 'FR'],
    ['null drei null neunzig achtzehn zwanzig', 'DE'],
    ['null dreißig vierundvierzig einundzwanzig siebzehn', 'DE'],
    ['seiscientos, no: seis doce treinta y cuatro cincuenta y seis setenta y ocho', 'ES'],
    ['noventa y uno doce treinta y cuatro veinticinco ocho', 'ES'],
  ])('finds the pairs of %s', (text, region) => {
    expect(redact([text], [region])[0]).toContain('[phone number]');
  });

  it('keeps the number of a bank account whole', () => {
    const text = 'It is DE89 3704 0044 0532 0130 00, or GB29NWBK60161331926819.';
    expect(redact([text], ['DE', 'US', 'GB'], ['phone_numbers'])).toEqual([text]);
    expect(redact([text.replace('DE89', 'DE88')], ['DE', 'US', 'GB'], ['phone_numbers'])).not.toEqual([text]);
  });

  it('finds a number that continues in later texts', () => {
    expect(redact(['It is 4111 1111', '1111', '1111. Do you need more?'])).toEqual([
      'It is [card number]',
      '[card number]',
      '[card number]. Do you need more?',
    ]);
    expect(redact(['ada at', 'example dot com, and 90210', '5551234'])).toEqual([
      '[email address]',
      '[email address], and 90210',
      '5551234',
    ]);
  });

  it.each([
    ['digits', '4'.repeat(LONG)],
    ['single digits', '5 '.repeat(LONG)],
    ['digit words', 'one double '.repeat(LONG / 10)],
    ['phone numbers', '+12025550123 '.repeat(LONG / 13)],
    ['at signs', '@'.repeat(LONG)],
    ['addresses that do not end', 'a@'.repeat(LONG / 2)],
    ['spoken addresses', 'a at b dot '.repeat(LONG / 11)],
    ['letters that spell an address', 'x '.repeat(LONG / 2)],
    ['opening brackets', '('.repeat(LONG)],
    ['separators between digits', `4${' '.repeat(LONG)}4`],
    ['plus signs', '+ '.repeat(LONG / 2)],
    ['escapes', String.raw`\n%31\u0031`.repeat(LONG / 12)],
    ['backslashes', '\\'.repeat(LONG)],
    ['numbers of accounts', 'DE89 3704 '.repeat(LONG / 10)],
    ['valid numbers of accounts', 'DE89 3704 0044 0532 0130 00, '.repeat(LONG / 28)],
    ['pairs', 'soixante et dix quatre-vingt '.repeat(LONG / 30)],
    ['combining marks', `a${'\u0301'.repeat(LONG)}`],
  ])('takes linear time for %s', (_what, text) => {
    const before = process.cpuUsage();
    redact([text]);
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(MOST_CPU_MS);
  });

  it.each([
    ['digits', '5 '.repeat(TYPED / 2)],
    ['digits of another script', '\u09ef '.repeat(TYPED / 2)],
    ['digit words', 'one double '.repeat(TYPED / 11)],
    ['phone numbers', '0049 30 901820, '.repeat(TYPED / 16)],
    ['numbers of accounts', 'DE89 3704 0044 0532 0130 00, '.repeat(TYPED / 28)],
    ['escapes', String.raw`\n%31\u0031`.repeat(TYPED / 11)],
    ['words', 'May I come at ten, please? '.repeat(TYPED / 27)],
  ])('takes little time for a typed turn of %s', (_what, text) => {
    const redactTurn = (times: number) => {
      for (let count = 0; count < times; count += 1) redact([text], ['US', 'DE', 'FR']);
    };
    redactTurn(50);
    const cpuMs = Array.from({ length: 5 }, () => {
      const before = process.cpuUsage();
      redactTurn(20);
      return process.cpuUsage(before).user / 1_000 / 20;
    });
    // Other processes slow down a part of the batches.
    expect(Math.min(...cpuMs)).toBeLessThan(MOST_CPU_OF_TURN_MS);
  });

  it('never touches ordinary words', () => {
    const word = fc.oneof(
      fc.constantFrom(...'at dot point and then double plus one two seven oh the a I you call zero.'.split(' ')),
      fc.stringMatching(/^[a-zäéß]{2,12}[,.!?]?$/u),
    );
    const text = fc.array(word, { maxLength: 40 }).map((words) => words.join(' '));
    const digitWords = /\b(?:one|two|seven|oh|zero|double)\b/gu;
    fc.assert(
      fc.property(
        // With fewer than seven digits, and no dot that could be one of an address.
        text.filter((each) => (each.match(digitWords)?.length ?? 0) < 4 && !/\b(?:dot|at)\b/u.test(each)),
        (each) => expect(redact([each], ['US', 'DE', 'DK'])).toEqual([each]),
      ),
      { numRuns: 300 },
    );
  });

  it('leaves no digit of a card number, whatever is around it', () => {
    const around = fc.stringMatching(/^[bcdfg ]{0,10}[bcdfg]$/);
    const separator = fc.constantFrom('', ' ', '-', ', ', '. ');
    fc.assert(
      fc.property(
        around,
        around,
        fc.array(fc.nat(9), { minLength: 14, maxLength: 14 }),
        separator,
        (a, b, some, sep) => {
          const digits = [4, ...some];
          const sum = digits.reduce(
            (all, digit, at) => all + (at % 2 === 0 ? (digit > 4 ? digit * 2 - 9 : digit * 2) : digit),
            0,
          );
          const card = [...digits, (10 - (sum % 10)) % 10].join('').replaceAll(/(\d{4})(?=\d)/g, `$1${sep}`);
          expect(redact([`${a} ${card} ${b}`], [], ['card_numbers'])).toEqual([`${a} [card number] ${b}`]);
        },
      ),
      { numRuns: 300 },
    );
  });
});
