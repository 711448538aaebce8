import { SESSION_POLICY } from '../../src/voice/session/reducer/policy.js';
import type { SessionSetup } from '../../src/voice/session/reducer/state.js';
import { whoAnswered } from '../../src/voice/session/reducer/voicemail.js';
import { introducedWorld, openWorld, type World } from '../support/session-world';

const SCRIPTED: Partial<SessionSetup> = { capabilities: { endsTurns: 'engine', completesDigits: 'engine' } };
const { minGapMs, pauseMs } = SESSION_POLICY.dtmf;
const { lingerMs, hangUpWithinMs, lastSentenceMs, lastLineWithinMs } = SESSION_POLICY.closing;

const tasks = (world: World) => world.of('request_reply').map(({ task }) => task);
const keys = (world: World) => world.stored().filter((turn) => turn.startsWith('caller: (keys: '));
const ends = (world: World) => world.of('end').map(({ reason }) => reason);

/** The caller speaks, and the engine makes this of it. */
function says(world: World, text: string, holds?: 'no_words' | 'greeting'): void {
  const startMs = world.now();
  world.speaks(600);
  const voice = { startMs, endMs: world.now() };
  world.hushes();
  const certain = holds === undefined ? {} : { holds };
  world.happens({ type: 'turn_ended', text, streamMs: world.now(), voice, ...certain });
}

/** The engine knows that this is a whole answer. */
function enters(world: World, digits: string): void {
  world.presses(digits);
  world.happens({ type: 'dtmf_entered' });
}

function goodbye(world: World, goodbyeBy: 'agent' | 'caller'): void {
  says(world, 'yes');
  const replyId = world.of('request_reply').at(-1)?.replyId ?? '';
  world.happens({ type: 'reply_is_last', replyId, itemId: `${replyId}.0`, goodbyeBy });
}

/** When the agent's goodbye was heard, and when the session ended after it. */
function lingered(world: World): number {
  const heard = world.commands.findLast(({ command }) => command.type === 'close_item');
  const end = world.commands.find(({ command }) => command.type === 'end');
  return (end?.atMs ?? Number.NaN) - (heard?.atMs ?? Number.NaN);
}

describe('a reply that a script is asked for', () => {
  it('has a task: to introduce, to answer, to take keys, to go on, or to tell of the end', () => {
    const world = openWorld(SCRIPTED);
    world.happens({ type: 'line_opened' });
    world.pass(4_000);
    says(world, 'yes');
    world.pass(4_000);
    enters(world, '1');
    world.pass(4_000);
    world.happens({ type: 'ending_soon', secondsLeft: 20 });
    expect(tasks(world)).toEqual(['introduce', 'answer', 'digits', 'wrap_up']);
    const back = openWorld({ ...SCRIPTED, resumed: true, introduced: true });
    back.happens({ type: 'line_opened' });
    expect(tasks(back)).toEqual(['resume']);
  });

  it('keeps its task while it waits for room', () => {
    const world = introducedWorld({
      ...SCRIPTED,
      policy: { ...SESSION_POLICY, replies: { atOnce: 1, oneMoreAfterMs: 10_000, reserve: 0 } },
    });
    enters(world, '1');
    expect(tasks(world)).toEqual(['introduce']);
    world.pass(7_000);
    expect(tasks(world)).toEqual(['introduce', 'digits']);
  });

  it('is not begun into the words of who answers with one: they are answered', () => {
    const world = openWorld(SCRIPTED);
    world.speaks(300);
    world.happens({ type: 'line_opened' });
    expect(tasks(world)).toEqual([]);
    world.hushes();
    world.happens({ type: 'turn_ended', text: 'hello', streamMs: world.now(), holds: 'greeting' });
    expect(tasks(world)).toEqual(['introduce']);
  });
});

describe('DTMF that the engine takes for answers', () => {
  it('is an entry at once when the engine says so', () => {
    const world = introducedWorld(SCRIPTED);
    world.presses('41');
    expect(tasks(world)).toEqual(['introduce']);
    enters(world, '5');
    expect(tasks(world)).toEqual(['introduce', 'digits']);
    expect(keys(world)).toEqual(['caller: (keys: 4 1 5)']);
  });

  it('is answered once in 1.5 s, and what is pressed meanwhile joins', () => {
    const world = introducedWorld(SCRIPTED);
    for (const key of '12') enters(world, key);
    world.pass(100);
    enters(world, '1');
    expect(keys(world)).toEqual(['caller: (keys: 1)']);
    world.pass(minGapMs);
    expect(keys(world)).toEqual(['caller: (keys: 1)', 'caller: (keys: 2 1)']);
    expect(tasks(world)).toEqual(['introduce', 'digits', 'digits']);
  });

  it('counts over the introduction, which is not made again', () => {
    const world = openWorld(SCRIPTED);
    world.happens({ type: 'line_opened' });
    world.pass(800);
    enters(world, '1');
    expect(world.of('clear')).toHaveLength(1);
    world.pass(1_000);
    expect(tasks(world)).toEqual(['introduce', 'digits']);
    says(world, 'yes');
    expect(tasks(world).at(-1)).toBe('answer');
  });

  it('that ends nothing stops nobody and is not answered, but kept', () => {
    const world = introducedWorld(SCRIPTED);
    says(world, 'yes');
    world.pass(1_000);
    world.presses('##');
    expect(world.of('clear')).toEqual([]);
    world.pass(pauseMs + 100);
    expect(keys(world)).toEqual(['caller: (keys: # #)']);
    expect(tasks(world)).toEqual(['introduce', 'answer']);
  });

  it('gives way to words, and a noise takes nothing of it away', () => {
    const world = introducedWorld(SCRIPTED);
    world.presses('4');
    says(world, 'seven');
    world.pass(pauseMs);
    expect(world.stored().slice(-2)).toEqual(['caller: (keys: 4)', 'caller: seven']);
    expect(tasks(world)).toEqual(['introduce', 'answer']);
    world.presses('41');
    says(world, '(speech)', 'no_words');
    enters(world, '5');
    expect(tasks(world)).toEqual(['introduce', 'answer', 'digits']);
    expect(world.stored().slice(-2)).toEqual(['caller: (speech)', 'caller: (keys: 4 1 5)']);
  });
});

describe('the goodbye of a session', () => {
  it('lets the far end hang up first, for 1.5 s, or 4 s when it said goodbye itself', () => {
    for (const [by, ms] of [
      ['agent', lingerMs],
      ['caller', hangUpWithinMs],
    ] as const) {
      const world = introducedWorld(SCRIPTED);
      goodbye(world, by);
      world.pass(20_000);
      expect(ends(world)).toEqual(['agent_hangup']);
      expect(lingered(world)).toBe(ms);
    }
  });

  it('waits for the end of a short sentence', () => {
    const world = introducedWorld(SCRIPTED);
    goodbye(world, 'agent');
    world.pass(4_000);
    world.happens({ type: 'voice_started', startMs: world.now() - 160, streamMs: world.now() });
    world.pass(20_000);
    expect(lingered(world)).toBe(lingerMs + lastSentenceMs);
  });

  it('is interrupted by nothing, and is the last thing said', () => {
    const world = introducedWorld(SCRIPTED);
    goodbye(world, 'agent');
    world.pass(500);
    says(world, 'wait');
    enters(world, '1');
    world.happens({ type: 'ending_soon', secondsLeft: 20 });
    world.pass(20_000);
    expect(world.of('clear')).toEqual([]);
    expect(tasks(world)).toEqual(['introduce', 'answer']);
    expect(ends(world)).toEqual(['agent_hangup']);
  });

  it('that cannot be said, or is never heard, ends the session all the same', () => {
    const mute = introducedWorld(SCRIPTED);
    goodbye(mute, 'agent');
    const replyId = mute.of('request_reply').at(-1)?.replyId ?? '';
    mute.happens({ type: 'reply_failed', replyId, part: 'voice', message: 'voice: mute' });
    expect(ends(mute)).toEqual(['agent_hangup']);
    const never = introducedWorld(SCRIPTED, { afterMs: 1_000 });
    says(never, 'yes');
    const last = never.of('request_reply').at(-1)?.replyId ?? '';
    never.happens({ type: 'reply_is_last', replyId: last, itemId: 'never', goodbyeBy: 'agent' });
    never.pass(lastLineWithinMs + 100);
    expect(ends(never)).toEqual(['agent_hangup']);
  });
});

describe('a machine that the engine hears by ear', () => {
  const leaves = { ...SCRIPTED, voicemail: { action: 'leave_message' as const, hasMessage: true } };

  it('gets its message 1 s after the tone', () => {
    const world = introducedWorld(leaves);
    world.happens({ type: 'tone_heard', streamMs: world.now() });
    world.happens({ type: 'machine_heard' });
    world.pass(900);
    expect(world.of('say')).toEqual([]);
    world.pass(200);
    expect(world.of('say')).toMatchObject([{ line: 'voicemail_message' }]);
    expect(whoAnswered(world.state())).toBe('voicemail');
  });

  it('is hung up on at once', () => {
    const world = introducedWorld(SCRIPTED);
    world.happens({ type: 'machine_heard' });
    expect(ends(world)).toEqual(['voicemail']);
  });

  it.each([
    ['has answered', (world: World) => says(world, 'yes')],
    ['presses keys', (world: World) => world.presses('1')],
    ['is one by the carrier’s word', (world: World) => world.happens({ type: 'answered_by', who: 'human' })],
  ])('is none when a person %s', (_, shows) => {
    const world = introducedWorld(SCRIPTED);
    shows(world);
    world.happens({ type: 'machine_heard' });
    expect(ends(world)).toEqual([]);
  });

  it('may have said hello, or what nobody understood', () => {
    const world = introducedWorld(SCRIPTED);
    says(world, 'hello', 'greeting');
    says(world, '(speech)', 'no_words');
    expect(whoAnswered(world.state())).toBe('unknown');
    says(world, 'yes');
    expect(whoAnswered(world.state())).toBe('human');
  });
});

describe('a turn that ends while the agent answers the one before', () => {
  it.each([
    ['interrupts that answer', (world: World) => says(world, 'no')],
    [
      'was said before it',
      (world: World) =>
        world.happens({ type: 'turn_ended', text: 'no', streamMs: world.now(), voice: { startMs: 10, endMs: 900 } }),
    ],
  ])('is answered in its place: it %s', (_, saysMore) => {
    const world = introducedWorld(SCRIPTED);
    says(world, 'yes');
    world.pass(1_000);
    expect(world.isPlaying()).toBe(true);
    saysMore(world);
    expect(world.of('clear')).toHaveLength(1);
    expect(world.stored().filter((turn) => turn.startsWith('caller: '))).toEqual(['caller: yes', 'caller: no']);
    expect(tasks(world)).toEqual(['introduce', 'answer', 'answer']);
  });
});

describe('the carrier’s word that a mailbox has answered', () => {
  it('counts after an answer, too', () => {
    const world = introducedWorld(SCRIPTED);
    says(world, 'yes');
    world.happens({ type: 'answered_by', who: 'voicemail' });
    expect(ends(world)).toEqual(['voicemail']);
    expect(whoAnswered(world.state())).toBe('voicemail');
  });
});

describe('turns whose voice the engine knows', () => {
  it('have its times, though the next one has begun', () => {
    const world = introducedWorld(SCRIPTED);
    const startMs = world.now();
    world.speaks(600);
    const voice = { startMs, endMs: world.now() };
    world.hushes();
    world.pass(300);
    world.speaks(400);
    world.happens({ type: 'turn_ended', text: 'one', streamMs: world.now(), voice });
    expect(world.of('store_turn').at(-1)).toMatchObject({ text: 'one', ...voice });
    expect(world.state().turns.voice).toMatchObject({ startMs: voice.endMs });
  });

  it('that end with the call are stored', () => {
    const world = introducedWorld(SCRIPTED);
    world.happens({ type: 'stopped' });
    world.happens({ type: 'turn_ended', text: 'yes', streamMs: world.now(), voice: { startMs: 10, endMs: 900 } });
    expect(world.stored().at(-1)).toBe('caller: yes');
    expect(tasks(world)).toEqual(['introduce']);
  });
});

describe('an item of a session whose last piece comes late', () => {
  it('is over some time after that piece', () => {
    const world = openWorld(SCRIPTED, { marks: false, speechMs: 1_000, afterMs: 60_000 });
    world.happens({ type: 'line_opened' });
    const replyId = world.of('request_reply')[0]?.replyId ?? '';
    const item = { itemId: `${replyId}.0`, replyId };
    world.happens({ type: 'item_audio', ...item, ms: 200 });
    world.pass(4_000);
    world.happens({ type: 'item_audio', ...item, ms: 200 });
    world.happens({ type: 'item_whole', itemId: item.itemId });
    world.pass(200 + SESSION_POLICY.playback.markGraceMs - 100);
    expect(world.of('close_item')).toEqual([]);
    world.pass(200);
    expect(world.of('close_item')).toHaveLength(1);
  });
});
