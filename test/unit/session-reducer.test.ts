import { SESSION_POLICY } from '../../src/voice/session/reducer/policy.js';
import { reduceSession } from '../../src/voice/session/reducer/reduce.js';
import { heardIntroduction } from '../../src/voice/session/reducer/resume.js';
import { introducedWorld, openWorld, type World } from '../support/session-world';

const INTRODUCE_AGAIN =
  'You were interrupted before your introduction was heard. Introduce yourself again with your next words.';

const modelInputs = (world: World) => world.of('add_to_history').map(({ text }) => text);
const spokenLines = (world: World) => world.of('say').map(({ phrase }) => phrase);
const ends = (world: World) => [...world.of('end').map(({ reason }) => reason), ...world.of('fail').map(() => 'fail')];

/** Returns the time of the stream at which a session ended; undefined if it has not ended. */
function endedAtMs(world: World): number | undefined {
  return world.commands.find(({ command }) => command.type === 'end' || command.type === 'fail')?.atMs;
}

describe('turns of a session', () => {
  it('end in a pause if voice activity detection agrees', () => {
    const world = introducedWorld();
    world.speaks(800);
    world.happens({ type: 'words', text: 'Yes.', streamMs: world.now() });
    world.happens({ type: 'turn_may_end', text: 'Yes.', streamMs: world.now() });
    expect(world.stored()).not.toContain('caller: Yes.');
    world.fallsSilent();
    expect(world.stored()).toContain('caller: Yes.');
  });

  it('end at once if the provider detects the end by meaning', () => {
    const world = introducedWorld({ capabilities: { endsTurns: 'engine' } });
    world.speaks(800);
    world.happens({ type: 'turn_ended', text: 'Yes.', streamMs: world.now() });
    expect(world.stored()).toContain('caller: Yes.');
    expect(world.of('request_reply').at(-1)?.confirmed).toBe(true);
  });

  it('confirm an early reply for the same words and cancel it for others', () => {
    const same = introducedWorld();
    same.says('Yes.');
    expect(same.of('confirm_reply')).toHaveLength(1);
    const other = introducedWorld();
    other.speaks(800);
    other.happens({ type: 'turn_may_end', text: 'Yes', streamMs: other.now() });
    const early = other.of('request_reply').at(-1)?.replyId;
    other.happens({ type: 'turn_ended', text: 'Yes, tomorrow.', streamMs: other.now() });
    expect(other.of('confirm_reply')).toEqual([]);
    expect(other.of('cancel_reply').at(-1)?.replyId).toBe(early);
    expect(other.of('request_reply').at(-1)).toMatchObject({ confirmed: true });
  });
});

describe('barge-in', () => {
  it('clears the audio and cancels the reply after 160 ms of voice', () => {
    const world = introducedWorld();
    world.says('Yes.');
    world.pass(1_000);
    expect(world.isPlaying()).toBe(true);
    world.speaks(180);
    expect(world.of('clear')).toHaveLength(1);
    expect(world.isPlaying()).toBe(false);
  });

  it('stops a reply that starts while the caller is already speaking', () => {
    const world = introducedWorld({ capabilities: { endsTurns: 'engine' } });
    world.speaks(800);
    world.happens({ type: 'voice_started', startMs: world.now() - 20, streamMs: world.now() });
    world.happens({ type: 'turn_ended', text: 'Yes.', streamMs: world.now() });
    world.pass(1_000);
    expect(world.of('clear')).toHaveLength(1);
  });
});

describe('playback of a session', () => {
  it('gives up an item without marks after its length and a grace period', () => {
    const world = openWorld({}, { marks: false, speechMs: 2_000, afterMs: 20 });
    world.happens({ type: 'line_opened' });
    world.pass(2_000 + SESSION_POLICY.playback.markGraceMs - 100);
    expect(world.of('close_item')).toEqual([]);
    world.pass(300);
    expect(world.of('close_item')).toMatchObject([{ complete: false, playedMs: 0 }]);
    const [{ replyId } = { replyId: '' }] = world.of('request_reply');
    const sent = world.of('send_audio').length;
    world.happens({ type: 'item_audio', itemId: `${replyId}.0`, replyId, ms: 500 });
    expect(world.of('send_audio')).toHaveLength(sent);
  });

  it('counts an item without its last mark as played after its length and the grace period', () => {
    const world = openWorld({}, { marks: 'all but the last', speechMs: 1_000, afterMs: 20 });
    world.happens({ type: 'line_opened' });
    world.pass(1_000 + SESSION_POLICY.playback.markGraceMs + 100);
    expect(world.of('close_item')).toMatchObject([{ kind: 'introduction', complete: true, playedMs: 1_000 }]);
    expect(modelInputs(world)).not.toContain(INTRODUCE_AGAIN);
  });

  it('drops audio of a cancelled reply', () => {
    const world = introducedWorld();
    world.says('Yes.');
    const replyId = world.of('confirm_reply')[0]?.replyId ?? '';
    world.pass(1_000);
    world.speaks(400);
    const sent = world.of('send_audio').length;
    world.happens({ type: 'item_audio', itemId: `${replyId}.0`, replyId, ms: 500 });
    world.happens({ type: 'item_audio', itemId: `${replyId}.1`, replyId, ms: 500 });
    expect(world.of('send_audio')).toHaveLength(sent);
  });
});

describe('the silence timeout of a session', () => {
  it('reprompts after 10 s and ends the call after 30 s', () => {
    const world = introducedWorld();
    const quietSinceMs = world.state().silence.quietSinceMs;
    world.pass(quietSinceMs + 9_900 - world.now());
    expect(spokenLines(world)).toEqual([]);
    world.pass(200);
    expect(spokenLines(world)).toEqual(['reprompt']);
    world.pass(quietSinceMs + 29_900 - world.now());
    expect(spokenLines(world)).toEqual(['reprompt']);
    world.pass(6_000);
    expect(spokenLines(world)).toEqual(['reprompt', 'silence_goodbye']);
    expect(ends(world)).toEqual(['silence']);
  });

  it.each([
    ['its last mark is lost', 'all but the last' as const],
    ['all its marks are lost', false],
  ])('starts at the end of the agent’s audio, even if %s', (_, marks) => {
    const world = openWorld({ resumed: true, introduced: true }, { marks, speechMs: 9_000, afterMs: 20 });
    world.happens({ type: 'line_opened' });
    const endMs = 9_020;
    world.pass(endMs + 9_900);
    expect(spokenLines(world)).toEqual([]);
    world.pass(200);
    expect(spokenLines(world)).toEqual(['reprompt']);
  });

  it('plays the whole reprompt', () => {
    const world = introducedWorld();
    world.pass(14_000);
    expect(world.of('close_item').at(-1)).toMatchObject({ kind: 'reprompt', complete: true });
  });

  it('restarts when the caller speaks', () => {
    const world = introducedWorld();
    world.pass(9_000);
    world.speaks(400);
    world.fallsSilent();
    world.pass(9_000);
    expect(spokenLines(world)).toEqual([]);
  });

  it('restarts after the agent speaks, and pauses while the caller speaks', () => {
    const world = introducedWorld();
    world.pass(9_000);
    world.says('Yes.');
    world.pass(12_000);
    expect(spokenLines(world)).toEqual([]);
    world.happens({ type: 'voice_started', startMs: world.now(), streamMs: world.now() });
    world.pass(60_000);
    expect(spokenLines(world)).toEqual([]);
    expect(ends(world)).toEqual([]);
  });

  it('is paused for at most 60 s by a turn that stays open, and then hears the caller again', () => {
    const { openAtMostMs } = SESSION_POLICY.turns;
    const world = introducedWorld();
    world.happens({ type: 'voice_started', startMs: world.now() - 160, streamMs: world.now() });
    world.pass(openAtMostMs + 9_900);
    expect(spokenLines(world)).toEqual([]);
    world.pass(200);
    expect(spokenLines(world)).toEqual(['reprompt']);
    world.pass(5_000);
    expect(world.of('close_item').at(-1)).toMatchObject({ kind: 'reprompt', complete: true });
    world.happens({ type: 'voice_paused', endMs: world.now(), lastVoiceAtMs: world.now() });
    world.says('I am here.');
    expect(world.stored().at(-1)).toBe('caller: I am here.');
    expect(world.of('request_reply').at(-1)).toMatchObject({ task: 'answer' });
    expect(ends(world)).toEqual([]);
  });

  it('ends a call whose turn stays open', () => {
    const world = introducedWorld();
    world.happens({ type: 'voice_started', startMs: world.now() - 160, streamMs: world.now() });
    world.pass(SESSION_POLICY.turns.openAtMostMs + 40_000);
    expect(spokenLines(world)).toEqual(['reprompt', 'silence_goodbye']);
    expect(ends(world)).toEqual(['silence']);
  });

  it('does not run while a caller talks for minutes', () => {
    const world = introducedWorld();
    world.happens({ type: 'voice_started', startMs: world.now() - 160, streamMs: world.now() });
    for (let second = 0; second < 180; second += 5) {
      world.happens({ type: 'words', text: `and ${second}`, streamMs: world.now() });
      world.pass(5_000);
    }
    expect(spokenLines(world)).toEqual([]);
    expect(ends(world)).toEqual([]);
  });

  it('reprompts once, even if the agent speaks again before the end', () => {
    const world = introducedWorld();
    world.pass(10_000);
    expect(spokenLines(world)).toEqual(['reprompt']);
    world.happens({ type: 'ending_soon', secondsLeft: 20 });
    world.pass(25_000);
    expect(world.of('close_item').at(-1)).toMatchObject({ kind: 'reply', complete: true });
    expect(spokenLines(world)).toEqual(['reprompt']);
    world.pass(12_000);
    expect(spokenLines(world)).toEqual(['reprompt', 'silence_goodbye']);
  });

  it('restarts with a noise after the agent’s audio, even if the end of that audio is known only later', () => {
    const world = openWorld(
      { resumed: true, introduced: true },
      { marks: 'all but the last', speechMs: 3_000, afterMs: 20 },
    );
    world.happens({ type: 'line_opened' });
    world.pass(5_000);
    world.happens({ type: 'voice_started', startMs: world.now(), streamMs: world.now() });
    world.pass(100);
    world.happens({ type: 'voice_paused', endMs: world.now(), lastVoiceAtMs: world.now() });
    world.fallsSilent();
    expect(world.of('close_item')).toEqual([]);
    world.pass(5_100 + 9_900 - world.now());
    expect(world.of('close_item')).toMatchObject([{ complete: true }]);
    expect(spokenLines(world)).toEqual([]);
    world.pass(200);
    expect(spokenLines(world)).toEqual(['reprompt']);
  });

  it('reprompts again in the next silence', () => {
    const world = introducedWorld();
    world.pass(12_000);
    world.speaks(400);
    world.fallsSilent();
    world.pass(12_000);
    expect(spokenLines(world)).toEqual(['reprompt', 'reprompt']);
  });
});

describe('DTMF of a session', () => {
  it('groups digits up to # or a pause of 3 s', () => {
    const world = introducedWorld();
    world.presses('41');
    world.pass(2_900);
    world.presses('5#');
    expect(world.stored()).toContain('caller: (keys: 4 1 5 #)');
    world.presses('7');
    world.pass(2_900);
    expect(world.stored()).not.toContain('caller: (keys: 7)');
    world.pass(200);
    expect(world.stored()).toContain('caller: (keys: 7)');
    expect(modelInputs(world).at(-1)).toBe('The other person pressed these keys: 7');
  });

  it('stores digits of a caller who hangs up', () => {
    const world = introducedWorld();
    world.presses('19');
    world.happens({ type: 'stopped' });
    expect(world.stored()).toContain('caller: (keys: 1 9)');
  });
});

describe('closing of a session', () => {
  it('apologizes for a failed provider if the agent was heard before, and otherwise fails silently', () => {
    const heard = introducedWorld();
    heard.happens({ type: 'provider_gone', part: 'model', message: 'the language model provider is gone' });
    heard.pass(5_000);
    expect(spokenLines(heard)).toEqual(['apology']);
    expect(ends(heard)).toEqual(['fail']);
    const unheard = openWorld();
    unheard.happens({ type: 'line_opened' });
    unheard.happens({ type: 'provider_gone', part: 'model', message: 'the language model provider is gone' });
    expect(spokenLines(unheard)).toEqual([]);
    expect(ends(unheard)).toEqual(['fail']);
  });

  it('does not let the caller interrupt the last sentence', () => {
    const world = introducedWorld();
    world.happens({ type: 'provider_gone', part: 'model', message: 'the language model provider is gone' });
    world.pass(500);
    world.speaks(600);
    world.presses('1');
    expect(world.of('clear')).toEqual([]);
    world.pass(5_000);
    expect(ends(world)).toEqual(['fail']);
  });

  it('gives up a last sentence that does not start within 20 s', () => {
    const world = introducedWorld();
    const world2 = introducedWorld({}, { afterMs: 60_000 });
    world2.happens({ type: 'reply_done', replyId: 'reply-1' });
    world2.happens({ type: 'item_played', itemId: 'none', playedMs: 20, complete: false });
    for (const each of [world, world2])
      each.happens({ type: 'provider_gone', part: 'voice', message: 'the text-to-speech provider is gone' });
    const sinceMs = world2.now();
    world2.pass(30_000);
    expect((endedAtMs(world2) ?? 0) - sinceMs).toBe(SESSION_POLICY.closing.lastLineWithinMs);
    expect(world.of('say').at(-1)).toMatchObject({ phrase: 'apology', by: 'prepared' });
  });

  it('tries each way to say the last sentence, and ends the call if none works', () => {
    const world = introducedWorld();
    world.happens({ type: 'provider_gone', part: 'model', message: 'the language model provider is gone' });
    for (const by of ['prepared', 'voice'] as const) {
      expect(ends(world)).toEqual([]);
      const said = world.of('say').at(-1);
      expect(said).toMatchObject({ phrase: 'apology', by });
      world.happens({
        type: 'item_failed',
        itemId: said?.itemId ?? '',
        part: 'voice',
        message: 'the text-to-speech provider is mute',
      });
    }
    expect(ends(world)).toEqual(['fail']);
  });

  it('does not announce the end of the call any more', () => {
    const world = introducedWorld();
    world.happens({ type: 'provider_gone', part: 'model', message: 'the language model provider is gone' });
    world.happens({ type: 'ending_soon', secondsLeft: 20 });
    world.pass(10_000);
    expect(modelInputs(world).filter((text) => text.includes('will be ended'))).toEqual([]);
    expect(spokenLines(world)).toEqual(['apology']);
  });
});

describe('the filler of a session', () => {
  it('is said after 1.5 s without an answer, but not while the caller speaks', () => {
    const world = introducedWorld({}, { afterMs: 2_500 });
    world.pass(4_000);
    world.says('When is it?');
    world.pass(1_400);
    expect(spokenLines(world)).toEqual([]);
    world.pass(200);
    expect(spokenLines(world)).toEqual(['filler']);
    const interrupted = introducedWorld({}, { afterMs: 2_500 });
    interrupted.pass(4_000);
    interrupted.says('When is it?');
    interrupted.happens({ type: 'voice_started', startMs: interrupted.now(), streamMs: interrupted.now() });
    interrupted.pass(2_000);
    expect(spokenLines(interrupted)).toEqual([]);
  });

  it('is not said twice in a row', () => {
    const world = introducedWorld();
    world.speaks(800);
    world.fallsSilent();
    world.happens({ type: 'recogniser_lost' });
    world.pass(4_000);
    expect(spokenLines(world)).toEqual(['filler']);
    world.happens({ type: 'recogniser_lost' });
    world.pass(1_000);
    expect(spokenLines(world)).toEqual(['filler']);
  });
});

describe('the introduction', () => {
  it('is repeated if less than 2 s were heard, before any reprompt', () => {
    const world = openWorld();
    world.happens({ type: 'line_opened' });
    world.pass(1_000);
    world.speaks(400);
    expect(modelInputs(world)).toEqual(['The line is open. Begin to speak.', INTRODUCE_AGAIN]);
    world.fallsSilent();
    world.pass(11_000);
    expect(spokenLines(world)).toEqual([]);
    expect(world.of('request_reply').length).toBeGreaterThan(1);
  });

  it('counts as heard on an earlier stream after a complete sentence or 2 s of one', () => {
    const turn = (text: string, endMs: number) => ({ speaker: 'agent' as const, text, startMs: 0, endMs });
    const heard = (text: string, endMs: number) => heardIntroduction([turn(text, endMs)], 2_000);
    expect(heard('Hello, this is the assistant.', 1_500)).toBe(true);
    expect(heard('Hello, this (interrupted)', 2_000)).toBe(true);
    expect(heard('Hello, (interrupted)', 1_900)).toBe(false);
    expect(heardIntroduction([], 2_000)).toBe(false);
  });

  it('is not repeated in a resumed call', () => {
    const world = openWorld({ resumed: true, introduced: true });
    world.happens({ type: 'line_opened' });
    expect(modelInputs(world)).toEqual(['The line is back. Continue.']);
    world.pass(1_000);
    world.speaks(400);
    expect(modelInputs(world)).not.toContain(INTRODUCE_AGAIN);
  });
});

describe('the reducer of a session', () => {
  it('changes neither its state nor its event', () => {
    const world = introducedWorld();
    const before = world.state();
    const copy = structuredClone(before);
    reduceSession(before, { type: 'dtmf_digit', digit: '1', atMs: world.now() });
    reduceSession(before, { type: 'turn_ended', text: 'Yes.', streamMs: world.now(), atMs: world.now() });
    expect(before).toEqual(copy);
  });
});
