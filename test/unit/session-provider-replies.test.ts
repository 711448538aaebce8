import { SESSION_POLICY } from '../../src/voice/session/reducer/policy.js';
import { answeredByOf } from '../../src/voice/session/reducer/voicemail.js';
import { openWorld, type World } from '../support/session-world';

const PROVIDER = { capabilities: { endsTurns: 'engine', startsReplies: 'provider' } } as const;

/**
 * Opens a session whose provider detects the caller's turns and answers them. The agent has already introduced itself.
 */
function introducedSession(setup: Parameters<typeof openWorld>[0] = {}): World {
  const world = openWorld({ ...PROVIDER, ...setup });
  world.happens({ type: 'line_opened' });
  world.pass(5_000);
  return world;
}

const requestedReplies = (world: World) => world.of('request_reply').map(({ replyId }) => replyId);
const cancelled = (world: World) => world.of('cancel_reply').map(({ replyId }) => replyId);
const spokenLines = (world: World) => world.of('say').map(({ phrase }) => phrase);
const mayAnswer = (world: World) => world.of('set_auto_reply').map(({ autoReplies }) => autoReplies);

function takeTurn(world: World, ms = 600): void {
  world.happens({ type: 'voice_started', startMs: world.now(), streamMs: world.now() });
  world.pass(ms);
  world.happens({ type: 'turn_over', endMs: world.now() });
}

function answers(world: World, replyId: string, ms = 1_000): void {
  world.happens({ type: 'reply_begun', replyId });
  world.happens({ type: 'item_audio', itemId: `${replyId}.item`, replyId, ms });
  world.happens({ type: 'reply_heard', replyId, times: { startedMs: world.now() } });
}

function finishReply(world: World, replyId: string): void {
  world.happens({ type: 'item_whole', itemId: `${replyId}.item` });
  world.happens({ type: 'reply_done', replyId });
}

describe('a session whose provider starts replies', () => {
  it('requests only the first reply, because the provider answers each turn by itself', () => {
    const world = introducedSession();
    expect(world.of('add_to_history')).toEqual([]);
    expect(requestedReplies(world)).toHaveLength(1);
    takeTurn(world);
    answers(world, 'own');
    finishReply(world, 'own');
    world.pass(2_000);
    expect(requestedReplies(world)).toHaveLength(1);
    expect(world.of('close_item').at(-1)).toMatchObject({ itemId: 'own.item', kind: 'reply', complete: true });
  });

  it('stores the transcript of a turn whenever it arrives, even after the session', () => {
    const world = introducedSession();
    takeTurn(world);
    answers(world, 'own');
    world.happens({ type: 'turn_words', text: 'Hello?', startMs: 5_000, endMs: 5_600 });
    world.happens({ type: 'stopped' });
    world.happens({ type: 'turn_words', text: 'Good bye.', startMs: 6_000, endMs: 6_600 });
    expect(world.stored().filter((line) => line.startsWith('caller: '))).toEqual([
      'caller: Hello?',
      'caller: Good bye.',
    ]);
  });

  it('cancels a reply and clears the audio when the caller interrupts, before it truncates the item', () => {
    const world = introducedSession();
    takeTurn(world);
    answers(world, 'own', 9_000);
    world.pass(1_000);
    world.happens({ type: 'voice_started', startMs: world.now(), streamMs: world.now() });
    expect(cancelled(world)).toEqual(['own']);
    const order = world.commands.map(({ command }) => command.type).filter((type) => /cancel|clear|close/.test(type));
    expect(order.slice(-3)).toEqual(['cancel_reply', 'clear', 'close_item']);
  });

  it('cancels a reply without audio when the caller continues', () => {
    const world = introducedSession();
    takeTurn(world);
    world.happens({ type: 'reply_begun', replyId: 'own' });
    takeTurn(world);
    expect(cancelled(world)).toEqual(['own']);
  });

  it('waits for the current reply to finish before it requests the answer to tool results', () => {
    const world = introducedSession();
    takeTurn(world);
    answers(world, 'own', 3_000);
    world.happens({ type: 'tool_called', replyId: 'own', toolCallId: 'a', name: 'look_up', arguments: {} });
    world.happens({ type: 'reply_wanted' });
    expect(requestedReplies(world)).toHaveLength(1);
    finishReply(world, 'own');
    world.pass(100);
    expect(requestedReplies(world)).toHaveLength(2);
    expect(world.of('clear')).toEqual([]);
  });

  it('requests no reply while the caller speaks', () => {
    const world = introducedSession();
    world.happens({ type: 'voice_started', startMs: world.now(), streamMs: world.now() });
    world.presses('1#');
    world.happens({ type: 'reply_wanted' });
    world.pass(1_000);
    expect(requestedReplies(world)).toHaveLength(1);
    expect(world.of('add_to_history').at(-1)).toMatchObject({ digits: '1#' });
  });

  it('pauses the silence timeout until all tool calls have finished', () => {
    const world = introducedSession();
    takeTurn(world);
    world.happens({ type: 'reply_begun', replyId: 'own' });
    world.happens({ type: 'tool_called', replyId: 'own', toolCallId: 'a', name: 'look_up', arguments: {} });
    world.happens({ type: 'reply_done', replyId: 'own' });
    world.happens({ type: 'tool_called', replyId: 'own', toolCallId: 'b', name: 'look_up', arguments: {} });
    world.happens({ type: 'tool_called', replyId: 'own', toolCallId: 'c', name: 'look_up', arguments: {} });
    expect(world.state().provider.runningTools).toBe(3);
    expect(world.state().timers.silence).toBeUndefined();
    world.pass(1_600);
    expect(world.state().provider.runningTools).toBe(0);
    expect(world.state().timers.silence).toBeDefined();
  });

  it('pauses the silence timeout for at most 60 s while the provider reports no end of a turn', () => {
    const world = introducedSession();
    const startMs = world.now();
    world.happens({ type: 'voice_started', startMs, streamMs: startMs });
    world.pass(SESSION_POLICY.turns.openAtMostMs + 9_900);
    expect(spokenLines(world)).toEqual([]);
    world.pass(5_000);
    expect(spokenLines(world)).toEqual(['reprompt']);
    expect(world.of('close_item').at(-1)).toMatchObject({ kind: 'reprompt', complete: true });
    world.happens({ type: 'turn_over', endMs: world.now() });
    answers(world, 'own');
    finishReply(world, 'own');
    world.pass(2_000);
    expect(world.of('close_item').at(-1)).toMatchObject({ itemId: 'own.item', complete: true });
    world.happens({ type: 'voice_started', startMs: world.now(), streamMs: world.now() });
    world.pass(SESSION_POLICY.turns.openAtMostMs + 40_000);
    expect(world.of('end')).toEqual([{ type: 'end', reason: 'silence' }]);
  });

  it('hangs up on an answering machine at once if there is no message to leave', () => {
    const world = introducedSession();
    world.happens({ type: 'answered_by', who: 'voicemail' });
    expect(world.of('end')).toEqual([{ type: 'end', reason: 'voicemail' }]);
    expect(world.of('say')).toEqual([]);
  });

  it('requests an owed reply that the provider does not start', () => {
    const world = introducedSession();
    takeTurn(world);
    world.happens({ type: 'reply_missed' });
    expect(requestedReplies(world)).toHaveLength(2);
  });

  it('stops automatic replies while the reply budget is low, requests each reply, and allows them again later', () => {
    const world = introducedSession();
    for (let count = 0; count < 4; count += 1) {
      world.happens({ type: 'reply_begun', replyId: `own-${count}` });
      world.happens({ type: 'reply_done', replyId: `own-${count}` });
    }
    expect(mayAnswer(world)).toEqual([false]);
    takeTurn(world);
    expect(requestedReplies(world)).toHaveLength(2);
    world.pass(4_000);
    takeTurn(world, 60_000);
    expect(mayAnswer(world)).toEqual([false, true]);
  });

  it('requests no more replies than the budget allows, and answers the last turn later', () => {
    const world = introducedSession();
    for (let count = 0; count < 7; count += 1) {
      world.happens({ type: 'reply_begun', replyId: `own-${count}` });
      world.happens({ type: 'reply_done', replyId: `own-${count}` });
    }
    for (let count = 0; count < 5; count += 1) takeTurn(world, 200);
    expect(requestedReplies(world)).toHaveLength(1);
    world.pass(20_000);
    expect(requestedReplies(world).length).toBeGreaterThan(1);
  });

  it('cancels a reply that the provider starts after the end is decided', () => {
    const world = introducedSession({ voicemail: { action: 'leave_message', hasMessage: true } });
    world.happens({ type: 'answered_by', who: 'voicemail' });
    world.happens({ type: 'reply_begun', replyId: 'own' });
    expect(cancelled(world).at(-1)).toBe('own');
    expect(mayAnswer(world)).toEqual([false]);
  });

  it('continues once after the provider reconnects', () => {
    const world = introducedSession();
    takeTurn(world);
    answers(world, 'own', 400);
    world.happens({ type: 'item_whole', itemId: 'own.item' });
    world.happens({ type: 'provider_lost' });
    world.pass(300);
    expect(requestedReplies(world)).toHaveLength(1);
    world.happens({ type: 'provider_back' });
    world.happens({ type: 'provider_back' });
    expect(requestedReplies(world)).toHaveLength(2);
  });

  it('announces the end only while neither party speaks', () => {
    const world = introducedSession();
    takeTurn(world);
    answers(world, 'own', 3_000);
    finishReply(world, 'own');
    world.happens({ type: 'ending_soon', secondsLeft: 20 });
    expect(world.of('add_to_history')).toHaveLength(1);
    expect(requestedReplies(world)).toHaveLength(1);
    world.pass(3_100);
    expect(requestedReplies(world)).toHaveLength(2);
  });

  it('requests nothing more after a transfer', () => {
    const world = introducedSession();
    world.happens({ type: 'tool_called', replyId: 'own', toolCallId: 'a', name: 'transfer_call', arguments: {} });
    world.happens({ type: 'tool_finished', endsCall: true, ok: true });
    world.happens({ type: 'reply_wanted' });
    takeTurn(world);
    world.pass(60_000);
    expect(requestedReplies(world)).toHaveLength(1);
    expect(world.of('say')).toEqual([]);
  });

  it('reports the latency of an answer to DTMF digits', () => {
    const world = introducedSession();
    world.presses('1#');
    world.pass(1_000);
    expect(world.of('store_latency').at(-1)).toMatchObject({ sinceMs: 5_000, knownMs: 5_000, atMs: 5_300 });
  });

  it('considers the remote party human after speech or DTMF digits on request', () => {
    const pressedDigits = introducedSession();
    expect(answeredByOf(pressedDigits.state())).toBe('unknown');
    pressedDigits.presses('1#');
    expect(answeredByOf(pressedDigits.state())).toBe('human');
    const spoke = introducedSession();
    spoke.happens({ type: 'turn_words', text: 'Hello?', startMs: 5_000, endMs: 5_600 });
    expect(answeredByOf(spoke.state())).toBe('human');
  });

  it('repeats an introduction that was not heard before it reprompts', () => {
    const world = openWorld(PROVIDER);
    world.happens({ type: 'line_opened' });
    world.pass(1_000);
    takeTurn(world, 400);
    world.happens({ type: 'reply_begun', replyId: 'own' });
    world.happens({ type: 'reply_done', replyId: 'own' });
    world.pass(11_000);
    expect(spokenLines(world)).toEqual([]);
    expect(requestedReplies(world)).toHaveLength(2);
    expect(world.state().introduction.heard).toBe(false);
  });

  it('counts an item without marks as not played, so that the provider forgets it', () => {
    const world = openWorld(PROVIDER, { marks: false });
    world.happens({ type: 'line_opened' });
    world.pass(3_300);
    expect(world.of('close_item')).toEqual([]);
    world.pass(3_100);
    expect(world.of('close_item').at(-1)).toMatchObject({ kind: 'introduction', playedMs: 0, complete: false });
  });

  it('allows 20 s for a goodbye and 60 s for a message to an answering machine', () => {
    const closingAtMs = (world: World) => (world.state().timers.closing ?? 0) - world.now();
    const silent = introducedSession();
    silent.pass(10_000);
    silent.pass(30_000 - (silent.now() - silent.state().silence.quietSinceMs));
    expect(spokenLines(silent).at(-1)).toBe('silence_goodbye');
    expect(closingAtMs(silent)).toBe(20_000);
    const machine = introducedSession({ voicemail: { action: 'leave_message', hasMessage: true } });
    machine.happens({ type: 'answered_by', who: 'voicemail' });
    machine.pass(1_000);
    expect(spokenLines(machine)).toEqual(['voicemail_message']);
    expect(closingAtMs(machine)).toBe(60_000);
  });
});

describe('the filler in a session whose provider starts replies', () => {
  it('is said to a waiting caller, unless the provider has nothing to say', () => {
    const waits = introducedSession();
    takeTurn(waits);
    waits.pass(1_600);
    expect(spokenLines(waits)).toEqual(['filler']);
    const empty = introducedSession();
    takeTurn(empty);
    empty.happens({ type: 'reply_begun', replyId: 'own' });
    empty.happens({ type: 'reply_done', replyId: 'own' });
    empty.pass(1_600);
    expect(spokenLines(empty)).toEqual([]);
  });

  it('is said 1.5 s after the provider connection is lost', () => {
    const world = introducedSession();
    world.happens({ type: 'provider_lost' });
    world.pass(1_400);
    expect(spokenLines(world)).toEqual([]);
    world.pass(200);
    expect(spokenLines(world)).toEqual(['filler']);
  });

  it('is not said twice in a row, for any length of or reason for the wait', () => {
    const world = introducedSession();
    takeTurn(world);
    world.pass(4_000);
    world.happens({ type: 'provider_lost' });
    world.pass(3_000);
    world.happens({ type: 'tool_called', replyId: 'own', toolCallId: 'a', name: 'look_up', arguments: {} });
    world.pass(20);
    world.happens({ type: 'provider_lost' });
    world.pass(4_000);
    expect(spokenLines(world)).toEqual(['filler']);
    answers(world, 'own');
    finishReply(world, 'own');
    world.pass(2_000);
    takeTurn(world);
    world.pass(1_600);
    expect(spokenLines(world)).toEqual(['filler', 'filler']);
  });
});
