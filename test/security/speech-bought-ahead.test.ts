import { openStage, type Stage } from '../support/pipeline-stage';

const SENTENCE = 'This is one more sentence of a long recital that nobody is going to hear. ';
/** 10 s at the stage's 50 ms a character, and the sentence that goes beyond it. */
const MOST_AHEAD = 200 + SENTENCE.length;

describe('speech that nobody hears', () => {
  let stage: Stage;

  beforeEach(async () => {
    jest.useFakeTimers();
    stage = await openStage();
  });

  afterEach(async () => {
    await stage.close();
    jest.useRealTimers();
  });

  it('is not bought: a far end that interrupts long answers costs little more than what it hears', async () => {
    const before = stage.voiced;
    for (let count = 0; count < 12; count += 1) {
      const asked = stage.asked.length;
      stage.hears().onEnd(`Tell me ${count}.`);
      await stage.pass(100);
      stage.lastAsked(asked + 1).answers(SENTENCE.repeat(255));
      await stage.pass(4_900);
    }
    const heardMs = 12 * 4_900;
    expect(stage.voiced - before).toBeLessThanOrEqual(heardMs / 50 + 12 * MOST_AHEAD);
  });

  it('is bought as the speech before it is heard, without a gap, up to the end of an answer', async () => {
    const before = stage.voiced;
    const text = SENTENCE.repeat(12).trim();
    stage.hears().onEnd('Tell me.');
    await stage.pass(100);
    stage.lastAsked(2).answers(text);
    await stage.pass(20);
    expect(stage.voiced - before).toBeLessThanOrEqual(MOST_AHEAD);
    await stage.pass(text.length * 50 + 200);
    expect(stage.said().at(-1)).toBe(`agent: ${text}`);
    expect(stage.isPlaying()).toBe(false);
  });

  it('is not made of an answer that does not end: it ends with a sentence after about two minutes', async () => {
    const before = stage.voiced;
    stage.hears().onEnd('Tell me everything.');
    await stage.pass(100);
    stage.lastAsked(2).answers(SENTENCE.repeat(250));
    await stage.pass(105_000);
    expect(stage.isPlaying()).toBe(false);
    expect(stage.voiced - before).toBeGreaterThan(1_900);
    expect(stage.voiced - before).toBeLessThanOrEqual(2_000);
    expect(stage.said().at(-1)).toMatch(/^agent: This .* hear\.$/);
  });

  it('ends what waits to be said when the line tells nothing of what was heard', async () => {
    stage.losesMarks = true;
    stage.hears().onEnd('Tell me.');
    await stage.pass(100);
    stage.lastAsked(2).answers(SENTENCE.repeat(20));
    await stage.pass(20_000);
    const asked = stage.asked.length;
    stage.losesMarks = false;
    stage.hears().onEnd('Are you still there?');
    await stage.pass(100);
    stage.lastAsked(asked + 1).answers('Yes.');
    await stage.pass(1_000);
    expect(stage.said().at(-1)).toBe('agent: Yes.');
  });

  it('is not bought of a message to an answering machine that hangs up: however long the values in it are', async () => {
    const mailbox = await openStage({
      call: {
        voicemail: { action: 'leave_message', message: '{{a}} '.repeat(166) },
        inputParameters: { a: 'word '.repeat(100) },
      },
    });
    const before = mailbox.voiced;
    mailbox.answeredBy('voicemail');
    await mailbox.pass(8_000);
    expect(mailbox.voiced - before).toBeGreaterThan(100);
    expect(mailbox.voiced - before).toBeLessThanOrEqual(8_000 / 50 + MOST_AHEAD + 240);
    await mailbox.pass(150_000);
    expect(mailbox.voiced - before).toBeLessThanOrEqual(2_000);
    await mailbox.close();
  });
});
