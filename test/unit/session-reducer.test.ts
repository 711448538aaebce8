import { SESSION_POLICY } from '../../src/voice/session/reducer/policy.js';
import { reduceSession } from '../../src/voice/session/reducer/reduce.js';
import { heardIntroduction } from '../../src/voice/session/reducer/resume.js';
import { introducedWorld, openWorld, type World } from '../support/session-world';

const INTRODUCE_AGAIN =
  'You were interrupted before your introduction was heard. Introduce yourself again with your next words.';

const told = (world: World) => world.of('tell_model').map(({ text }) => text);
const lines = (world: World) => world.of('say').map(({ line }) => line);
const ends = (world: World) => [...world.of('end').map(({ reason }) => reason), ...world.of('fail').map(() => 'fail')];

/** The stream time and the reason at which a session ended. */
function endedAtMs(world: World): number | undefined {
  return world.commands.find(({ command }) => command.type === 'end' || command.type === 'fail')?.atMs;
}

describe('turns of a session', () => {
  it('a pause ends a turn when voice detection agrees', () => {
    const world = introducedWorld();
    world.speaks(800);
    world.happens({ type: 'words', text: 'Yes.', streamMs: world.now() });
    world.happens({ type: 'turn_may_end', text: 'Yes.', streamMs: world.now() });
    expect(world.stored()).not.toContain('caller: Yes.');
    world.hushes();
    expect(world.stored()).toContain('caller: Yes.');
  });

  it('a provider that ends turns by meaning is believed at once', () => {
    const world = introducedWorld({ capabilities: { endsTurns: 'engine' } });
    world.speaks(800);
    world.happens({ type: 'turn_ended', text: 'Yes.', streamMs: world.now() });
    expect(world.stored()).toContain('caller: Yes.');
    expect(world.of('request_reply').at(-1)?.confirmed).toBe(true);
  });

  it('a reply begun early is confirmed for the same words, and taken back for others', () => {
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
  it('voice of 160 ms over the agent clears the line and takes the reply back', () => {
    const world = introducedWorld();
    world.says('Yes.');
    world.pass(1_000);
    expect(world.isPlaying()).toBe(true);
    world.speaks(180);
    expect(world.of('clear')).toHaveLength(1);
    expect(world.isPlaying()).toBe(false);
  });

  it('voice that was there before the agent spoke stops it, too', () => {
    const world = introducedWorld({ capabilities: { endsTurns: 'engine' } });
    world.speaks(800);
    world.happens({ type: 'voice_started', startMs: world.now() - 20, streamMs: world.now() });
    world.happens({ type: 'turn_ended', text: 'Yes.', streamMs: world.now() });
    world.pass(1_000);
    expect(world.of('clear')).toHaveLength(1);
  });
});

describe('playback of a session', () => {
  it('an item without marks is over some time after its length', () => {
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

  it('an item whose last mark is lost was heard to its end, when its time has passed', () => {
    const world = openWorld({}, { marks: 'all but the last', speechMs: 1_000, afterMs: 20 });
    world.happens({ type: 'line_opened' });
    world.pass(1_000 + SESSION_POLICY.playback.markGraceMs + 100);
    expect(world.of('close_item')).toMatchObject([{ kind: 'introduction', complete: true, playedMs: 1_000 }]);
    expect(told(world)).not.toContain(INTRODUCE_AGAIN);
  });

  it('audio of a reply that was taken back is not sent', () => {
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

describe('silence of a session', () => {
  it('is asked into after 10 s and ends the call after 30 s', () => {
    const world = introducedWorld();
    const quietSinceMs = world.state().silence.quietSinceMs;
    world.pass(quietSinceMs + 9_900 - world.now());
    expect(lines(world)).toEqual([]);
    world.pass(200);
    expect(lines(world)).toEqual(['are_you_there']);
    world.pass(quietSinceMs + 29_900 - world.now());
    expect(lines(world)).toEqual(['are_you_there']);
    world.pass(6_000);
    expect(lines(world)).toEqual(['are_you_there', 'silent_goodbye']);
    expect(ends(world)).toEqual(['silence']);
  });

  it.each([
    ['its last mark is lost', 'all but the last' as const],
    ['none of its marks comes', false],
  ])('begins when a line of the agent has been played, also if %s', (_, marks) => {
    const world = openWorld({ resumed: true, introduced: true }, { marks, speechMs: 9_000, afterMs: 20 });
    world.happens({ type: 'line_opened' });
    const endMs = 9_020;
    world.pass(endMs + 9_900);
    expect(lines(world)).toEqual([]);
    world.pass(200);
    expect(lines(world)).toEqual(['are_you_there']);
  });

  it('is asked into so that the caller hears it', () => {
    const world = introducedWorld();
    world.pass(14_000);
    expect(world.of('close_item').at(-1)).toMatchObject({ kind: 'reprompt', complete: true });
  });

  it('begins anew when the caller is heard', () => {
    const world = introducedWorld();
    world.pass(9_000);
    world.speaks(400);
    world.hushes();
    world.pass(9_000);
    expect(lines(world)).toEqual([]);
  });

  it('leaves the caller all the time after a line of the agent, and is none while somebody speaks', () => {
    const world = introducedWorld();
    world.pass(9_000);
    world.says('Yes.');
    world.pass(12_000);
    expect(lines(world)).toEqual([]);
    world.happens({ type: 'voice_started', startMs: world.now(), streamMs: world.now() });
    world.pass(60_000);
    expect(lines(world)).toEqual([]);
    expect(ends(world)).toEqual([]);
  });

  it('is asked into once, also when the agent says more before it ends', () => {
    const world = introducedWorld();
    world.pass(10_000);
    expect(lines(world)).toEqual(['are_you_there']);
    world.happens({ type: 'ending_soon', secondsLeft: 20 });
    world.pass(25_000);
    expect(world.of('close_item').at(-1)).toMatchObject({ kind: 'reply', complete: true });
    expect(lines(world)).toEqual(['are_you_there']);
    world.pass(12_000);
    expect(lines(world)).toEqual(['are_you_there', 'silent_goodbye']);
  });

  it('begins with a noise that came after the agent’s last word, though that became known later', () => {
    const world = openWorld(
      { resumed: true, introduced: true },
      { marks: 'all but the last', speechMs: 3_000, afterMs: 20 },
    );
    world.happens({ type: 'line_opened' });
    world.pass(5_000);
    world.happens({ type: 'voice_started', startMs: world.now(), streamMs: world.now() });
    world.pass(100);
    world.happens({ type: 'voice_paused', endMs: world.now(), lastVoiceAtMs: world.now() });
    world.hushes();
    expect(world.of('close_item')).toEqual([]);
    world.pass(5_100 + 9_900 - world.now());
    expect(world.of('close_item')).toMatchObject([{ complete: true }]);
    expect(lines(world)).toEqual([]);
    world.pass(200);
    expect(lines(world)).toEqual(['are_you_there']);
  });

  it('is asked into anew in the next silence', () => {
    const world = introducedWorld();
    world.pass(12_000);
    world.speaks(400);
    world.hushes();
    world.pass(12_000);
    expect(lines(world)).toEqual(['are_you_there', 'are_you_there']);
  });
});

describe('DTMF of a session', () => {
  it('digits are one entry up to #, or to a pause of 3 s', () => {
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
    expect(told(world).at(-1)).toBe('The far end pressed these keys: 7');
  });

  it('digits of a caller who hangs up are in the transcript', () => {
    const world = introducedWorld();
    world.presses('19');
    world.happens({ type: 'stopped' });
    expect(world.stored()).toContain('caller: (keys: 1 9)');
  });
});

describe('closing of a session', () => {
  it('a provider that is gone is apologized for once it was heard, else the call fails without a sound', () => {
    const heard = introducedWorld();
    heard.happens({ type: 'provider_gone', part: 'model', message: 'model: gone' });
    heard.pass(5_000);
    expect(lines(heard)).toEqual(['sorry']);
    expect(ends(heard)).toEqual(['fail']);
    const unheard = openWorld();
    unheard.happens({ type: 'line_opened' });
    unheard.happens({ type: 'provider_gone', part: 'model', message: 'model: gone' });
    expect(lines(unheard)).toEqual([]);
    expect(ends(unheard)).toEqual(['fail']);
  });

  it('nothing the caller does interrupts the last line', () => {
    const world = introducedWorld();
    world.happens({ type: 'provider_gone', part: 'model', message: 'model: gone' });
    world.pass(500);
    world.speaks(600);
    world.presses('1');
    expect(world.of('clear')).toEqual([]);
    world.pass(5_000);
    expect(ends(world)).toEqual(['fail']);
  });

  it('a last line that does not come is given up after 20 s', () => {
    const world = introducedWorld();
    const world2 = introducedWorld({}, { afterMs: 60_000 });
    world2.happens({ type: 'reply_done', replyId: 'reply-1' });
    world2.happens({ type: 'item_played', itemId: 'none', playedMs: 20, complete: false });
    for (const each of [world, world2]) each.happens({ type: 'provider_gone', part: 'voice', message: 'voice: gone' });
    const sinceMs = world2.now();
    world2.pass(30_000);
    expect((endedAtMs(world2) ?? 0) - sinceMs).toBe(SESSION_POLICY.closing.lastLineWithinMs);
    expect(world.of('say').at(-1)).toMatchObject({ line: 'sorry', by: 'prepared' });
  });

  it('a last line that cannot be said in one way is said in the next, and without any the call ends', () => {
    const world = introducedWorld();
    world.happens({ type: 'provider_gone', part: 'model', message: 'model: gone' });
    for (const by of ['prepared', 'voice'] as const) {
      expect(ends(world)).toEqual([]);
      const said = world.of('say').at(-1);
      expect(said).toMatchObject({ line: 'sorry', by });
      world.happens({ type: 'item_failed', itemId: said?.itemId ?? '', part: 'voice', message: 'voice: mute' });
    }
    expect(ends(world)).toEqual(['fail']);
  });

  it('is not told that the call will be ended', () => {
    const world = introducedWorld();
    world.happens({ type: 'provider_gone', part: 'model', message: 'model: gone' });
    world.happens({ type: 'ending_soon', secondsLeft: 20 });
    world.pass(10_000);
    expect(told(world).filter((text) => text.includes('will be ended'))).toEqual([]);
    expect(lines(world)).toEqual(['sorry']);
  });
});

describe('the filler of a session', () => {
  it('is said when an answer takes 1.5 s, and not into the caller’s words', () => {
    const world = introducedWorld({}, { afterMs: 2_500 });
    world.pass(4_000);
    world.says('When is it?');
    world.pass(1_400);
    expect(lines(world)).toEqual([]);
    world.pass(200);
    expect(lines(world)).toEqual(['one_moment']);
    const talked = introducedWorld({}, { afterMs: 2_500 });
    talked.pass(4_000);
    talked.says('When is it?');
    talked.happens({ type: 'voice_started', startMs: talked.now(), streamMs: talked.now() });
    talked.pass(2_000);
    expect(lines(talked)).toEqual([]);
  });

  it('is not said twice in a row', () => {
    const world = introducedWorld();
    world.speaks(800);
    world.hushes();
    world.happens({ type: 'recogniser_lost' });
    world.pass(4_000);
    expect(lines(world)).toEqual(['one_moment']);
    world.happens({ type: 'recogniser_lost' });
    world.pass(1_000);
    expect(lines(world)).toEqual(['one_moment']);
  });
});

describe('the introduction', () => {
  it('is made again when less than 2 s of it were heard, and before the caller is asked into silence', () => {
    const world = openWorld();
    world.happens({ type: 'line_opened' });
    world.pass(1_000);
    world.speaks(400);
    expect(told(world)).toEqual(['The line is open. Begin to speak.', INTRODUCE_AGAIN]);
    world.hushes();
    world.pass(11_000);
    expect(lines(world)).toEqual([]);
    expect(world.of('request_reply').length).toBeGreaterThan(1);
  });

  it('was heard on an earlier stream when a whole line of the agent was, or 2 s of one', () => {
    const turn = (text: string, endMs: number) => ({ speaker: 'agent' as const, text, startMs: 0, endMs });
    const heard = (text: string, endMs: number) => heardIntroduction([turn(text, endMs)], 2_000);
    expect(heard('Hello, this is the assistant.', 1_500)).toBe(true);
    expect(heard('Hello, this (interrupted)', 2_000)).toBe(true);
    expect(heard('Hello, (interrupted)', 1_900)).toBe(false);
    expect(heardIntroduction([], 2_000)).toBe(false);
  });

  it('is not made again in a call that goes on', () => {
    const world = openWorld({ resumed: true, introduced: true });
    world.happens({ type: 'line_opened' });
    expect(told(world)).toEqual(['The line is back. Go on.']);
    world.pass(1_000);
    world.speaks(400);
    expect(told(world)).not.toContain(INTRODUCE_AGAIN);
  });
});

describe('the reducer of a session', () => {
  it('changes neither the state nor the event it is given', () => {
    const world = introducedWorld();
    const before = world.state();
    const copy = structuredClone(before);
    reduceSession(before, { type: 'dtmf_digit', digit: '1', atMs: world.now() });
    reduceSession(before, { type: 'turn_ended', text: 'Yes.', streamMs: world.now(), atMs: world.now() });
    expect(before).toEqual(copy);
  });
});
