import type { Meaning } from '../../src/voice/audio/grammar.js';
import { createInterview } from '../../src/voice/engines/offline/interview.js';
import { createQuestions } from '../../src/voice/engines/offline/questions.js';
import type { TurnRecognition, Script } from '../../src/voice/engines/offline/script.js';
import type { ParameterValues } from '../../src/voice/engines/port.js';

const TEMPLATE: ParameterValues = { is_confirmed: false, orderNumber: null, size: 'small | medium|large', guests: 0 };

const interview = (template: ParameterValues = TEMPLATE, known?: ParameterValues) =>
  createInterview(createQuestions(template), known);

const understood = (meaning: Meaning): TurnRecognition => ({ outcome: 'understood', text: '', meaning });
const yes = understood({ kind: 'yes-no', value: true });
const no = understood({ kind: 'yes-no', value: false });
const digits = (text: string) => understood({ kind: 'digits', digits: text });
const choice = (index: number) => understood({ kind: 'choice', index });
const command = (word: 'repeat' | 'operator' | 'hello' | 'goodbye') => understood({ kind: 'command', command: word });
const unclear: TurnRecognition = { outcome: 'not understood' };

const answerBySpeech = (script: Script, ...turns: TurnRecognition[]) =>
  turns.map((turn) => script.onTurn(turn).parts.join(' ')).at(-1);
const answerByDigits = (script: Script, keys: string) =>
  Array.from(keys, (key) => script.onDigit(key)?.parts.join(' ')).at(-1);

describe('the questions of an interview', () => {
  it('are built from the words of the template keys and the types of the defaults', () => {
    expect(createQuestions(TEMPLATE).map(({ ask }) => ask.join(' '))).toEqual([
      'Is confirmed? Please say yes or no.',
      'What is your order number? Please say or enter the digits.',
      'Which size: small, medium or large?',
      'What is your guests? Please say or enter the digits.',
    ]);
  });

  it('offer choices that can be pronounced, and DTMF digits for the others', () => {
    const [question] = createQuestions({ dish: '大|rice' });
    expect(question?.grammar).toEqual({ kind: 'choices', choices: ['rice'] });
    expect(question?.valueOf({ kind: 'choice', index: 0 })).toBe('rice');
    expect(question?.valueOfDigits('1')).toBe('大');
    expect(question?.hint).toBe('Please say one of them, or press 1 for 大, 2 for rice.');
  });

  it('have a limited length, and a text even if the key has no letters', () => {
    expect(createQuestions({ ___: null })[0]?.ask[0]).toBe('What is your next answer?');
    expect(createQuestions({ ['x'.repeat(5_000)]: null })[0]?.ask[0]?.length).toBeLessThan(120);
  });
});

describe('an interview', () => {
  it('fills the template by voice, reads digits back and ends after the last answer', () => {
    const script = interview();
    expect(script.opening().parts).toEqual(['Is confirmed?', 'Please say yes or no.']);
    expect(answerBySpeech(script, yes)).toBe('Thank you. What is your order number? Please say or enter the digits.');
    expect(answerBySpeech(script, digits('0415'))).toBe('I heard 0, 4, 1, 5. Is that right?');
    expect(script.values()).toEqual({ is_confirmed: true });
    expect(answerBySpeech(script, yes)).toBe('Thank you. Which size: small, medium or large?');
    expect(answerBySpeech(script, choice(2))).toBe(
      'large. Thank you. What is your guests? Please say or enter the digits.',
    );
    expect(answerBySpeech(script, digits('12'))).toBe('I heard 1, 2. Is that right?');
    const last = script.onTurn(yes);
    expect(last).toEqual({ parts: ['Thank you. That is all I need to know. Goodbye.'], over: 'agent' });
    expect(script.values()).toEqual({ is_confirmed: true, orderNumber: '0415', size: 'large', guests: 12 });
  });

  it('accepts DTMF: digits up to # or a pause, 1 and 2 for yes and no, a number for a choice', () => {
    const script = interview();
    expect(answerByDigits(script, '2')).toMatch(/^Thank you\. What is your order number/);
    expect(answerByDigits(script, '0415')).toBeUndefined();
    expect(answerByDigits(script, '#')).toMatch(/^Thank you\. Which size/);
    expect(answerByDigits(script, '2')).toMatch(/^medium\. Thank you/);
    expect(answerByDigits(script, '31')).toBeUndefined();
    expect(script.onDigitsPaused()).toMatchObject({ over: 'agent' });
    expect(script.values()).toEqual({ is_confirmed: false, orderNumber: '0415', size: 'medium', guests: 31 });
  });

  it('asks again if the caller says that the digits read back are wrong', () => {
    const script = interview({ pin: null });
    expect(answerBySpeech(script, digits('41'), no)).toBe(
      'Sorry, let us try again. Please say it digit by digit, or enter it on your keypad and press the pound key.',
    );
    expect(script.values()).toEqual({});
    expect(answerBySpeech(script, digits('42'))).toBe('I heard 4, 2. Is that right?');
    expect(answerByDigits(script, '1')).toBe('Thank you. That is all I need to know. Goodbye.');
    expect(script.values()).toEqual({ pin: '42' });
  });

  it('leaves a question open after three unclear answers: null, never the default', () => {
    const script = interview({ confirmed: false, note: null });
    expect(answerBySpeech(script, unclear)).toMatch(/^Sorry, I did not understand\. Please say yes or no, or press 1/);
    expect(answerBySpeech(script, unclear)).toMatch(/^Sorry, I did not understand/);
    expect(answerBySpeech(script, unclear)).toBe(
      'Let us leave that open. What is your note? Please say or enter the digits.',
    );
    expect(answerBySpeech(script, unclear, unclear, unclear)).toBe(
      'Let us leave that open. Thank you. That is all I need to know. Goodbye.',
    );
    expect(script.values()).toEqual({ confirmed: null, note: null });
  });

  it('repeats the question or the read-back on request, but not without limit', () => {
    const script = interview({ pin: null });
    for (const word of ['repeat', 'hello'] as const) {
      expect(answerBySpeech(script, command(word))).toBe('What is your pin? Please say or enter the digits.');
    }
    expect(answerBySpeech(script, command('operator'))).toMatch(/cannot put you through\. What is your pin/);
    expect(answerBySpeech(script, digits('7'), command('repeat'))).toBe('I heard 7. Is that right?');
    expect(answerByDigits(script, '*')).toBe('I heard 7. Is that right?');
    const replies = Array.from({ length: 10 }, () => script.onTurn(command('repeat')));
    expect(replies.some(({ over }) => over === 'agent')).toBe(true);
    expect(script.values()).toEqual({ pin: null });
  });

  it('ends politely when the caller says goodbye, and keeps the values so far', () => {
    const script = interview();
    answerBySpeech(script, no);
    expect(script.onTurn(command('goodbye'))).toEqual({
      parts: ['Thank you for your time. Goodbye.'],
      over: 'caller',
    });
    expect(script.values()).toEqual({ is_confirmed: false });
  });

  it('asks for DTMF digits while speech recognition is overloaded', () => {
    expect(answerBySpeech(interview(), { outcome: 'overloaded' })).toBe(
      'Sorry, I cannot listen to you right now. Please use the keypad of your phone. Press 1 for yes or 2 for no.',
    );
  });

  it('continues after a resume with the first open question', () => {
    const script = interview(TEMPLATE, { is_confirmed: true, orderNumber: '7' });
    expect(script.bridge().parts).toEqual([
      'Sorry, the line broke for a moment.',
      'Which size: small, medium or large?',
    ]);
    expect(script.values()).toEqual({ is_confirmed: true, orderNumber: '7' });
  });

  it('does not repeat a question that it left open before the resume', () => {
    const before = interview({ code: null, agreed: false });
    answerBySpeech(before, unclear, unclear, unclear);
    const script = interview({ code: null, agreed: false }, before.values());
    expect(script.bridge().parts.join(' ')).toBe('Sorry, the line broke for a moment. Agreed? Please say yes or no.');
    expect(script.values()).toEqual({ code: null });
  });

  it('says goodbye if the stream was lost after the last answer', () => {
    const script = interview({ code: null, agreed: false }, { code: null, agreed: true });
    expect(script.bridge()).toEqual({
      parts: ['Sorry, the line broke for a moment.', 'Thank you. That is all I need to know. Goodbye.'],
      over: 'agent',
    });
  });

  it('asks for template keys that are also Object.prototype properties, after a resume too', () => {
    const script = interview({ constructor: null, valueOf: true }, { constructor: '7' });
    expect(script.bridge().parts).toContain('Value of?');
    expect(script.values()).toEqual({ constructor: '7' });
    expect(interview({ constructor: null }).opening().parts[0]).toBe('What is your constructor?');
  });

  it('rejects digits that are no answer and numbers that are not exact', () => {
    const script = interview({ agreed: true, count: 0 });
    expect(answerByDigits(script, '9')).toMatch(/^Sorry, I did not understand\. Press 1 for yes/);
    answerByDigits(script, '1');
    expect(answerByDigits(script, `${'9'.repeat(16)}#`)).toMatch(
      /^Sorry, I did not understand\. Please enter it on your keypad/,
    );
    expect(answerByDigits(script, `${'9'.repeat(15)}#`)).toMatch(/Goodbye/);
    expect(script.values()).toEqual({ agreed: true, count: 999_999_999_999_999 });
  });

  it('ignores a # after an answer that was complete without it', () => {
    const script = interview({ agreed: true, pin: null });
    expect(answerByDigits(script, '1#')).toBe('What is your pin? Please say or enter the digits.');
    expect(answerByDigits(script, '415#')).toMatch(/Goodbye/);
    expect(script.values()).toEqual({ agreed: true, pin: '415' });
  });
});
