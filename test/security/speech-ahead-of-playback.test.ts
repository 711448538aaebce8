import { openStage, type Stage } from '../support/pipeline-stage';

const SENTENCE = 'This is one more sentence of a long recital that no one is going to hear. ';
/** 10 s of speech at 50 ms per character, plus the sentence that exceeds this limit. */
const MAX_UNPLAYED_CHARACTERS = 200 + SENTENCE.length;

describe('speech that is not played', () => {
  let stage: Stage;

  beforeEach(async () => {
    jest.useFakeTimers();
    stage = await openStage();
  });

  afterEach(async () => {
    await stage.close();
    jest.useRealTimers();
  });

  it('is synthesized only a little ahead: interrupting long replies costs little more than what is played', async () => {
    const before = stage.voiced;
    for (let count = 0; count < 12; count += 1) {
      const asked = stage.requests.length;
      stage.hears().onEnd(`Tell me ${count}.`);
      await stage.pass(100);
      stage.lastRequest(asked + 1).respond(SENTENCE.repeat(255));
      await stage.pass(4_900);
    }
    const heardMs = 12 * 4_900;
    expect(stage.voiced - before).toBeLessThanOrEqual(heardMs / 50 + 12 * MAX_UNPLAYED_CHARACTERS);
  });

  it('is synthesized in time for playback without a gap, up to the end of a reply', async () => {
    const before = stage.voiced;
    const text = SENTENCE.repeat(12).trim();
    stage.hears().onEnd('Tell me.');
    await stage.pass(100);
    stage.lastRequest(2).respond(text);
    await stage.pass(20);
    expect(stage.voiced - before).toBeLessThanOrEqual(MAX_UNPLAYED_CHARACTERS);
    await stage.pass(text.length * 50 + 200);
    expect(stage.said().at(-1)).toBe(`agent: ${text}`);
    expect(stage.isPlaying()).toBe(false);
  });

  it('is not synthesized for a reply without an end: the reply ends with a sentence after about two minutes', async () => {
    const before = stage.voiced;
    stage.hears().onEnd('Tell me everything.');
    await stage.pass(100);
    stage.lastRequest(2).respond(SENTENCE.repeat(250));
    await stage.pass(105_000);
    expect(stage.isPlaying()).toBe(false);
    expect(stage.voiced - before).toBeGreaterThan(1_900);
    expect(stage.voiced - before).toBeLessThanOrEqual(2_000);
    expect(stage.said().at(-1)).toMatch(/^agent: This .* hear\.$/);
  });

  it('is dropped when the line reports no marks', async () => {
    stage.losesMarks = true;
    stage.hears().onEnd('Tell me.');
    await stage.pass(100);
    stage.lastRequest(2).respond(SENTENCE.repeat(20));
    await stage.pass(20_000);
    const asked = stage.requests.length;
    stage.losesMarks = false;
    stage.hears().onEnd('Are you still there?');
    await stage.pass(100);
    stage.lastRequest(asked + 1).respond('Yes.');
    await stage.pass(1_000);
    expect(stage.said().at(-1)).toBe('agent: Yes.');
  });

  it('is limited for a voicemail message when the voicemail hangs up, however long its values are', async () => {
    const voicemailStage = await openStage({
      call: {
        voicemail: { action: 'leave_message', message: '{{a}} '.repeat(166) },
        inputParameters: { a: 'word '.repeat(100) },
      },
    });
    const before = voicemailStage.voiced;
    voicemailStage.answeredBy('voicemail');
    await voicemailStage.pass(8_000);
    expect(voicemailStage.voiced - before).toBeGreaterThan(100);
    expect(voicemailStage.voiced - before).toBeLessThanOrEqual(8_000 / 50 + MAX_UNPLAYED_CHARACTERS + 240);
    await voicemailStage.pass(150_000);
    expect(voicemailStage.voiced - before).toBeLessThanOrEqual(2_000);
    await voicemailStage.close();
  });
});
