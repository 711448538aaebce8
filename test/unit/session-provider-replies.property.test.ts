import fc from 'fast-check';
import type { SessionEventBody } from '../../src/voice/session/reducer/events.js';
import { fillersInARow, openWorld, SETUP, type World } from '../support/session-world';

type Act = (world: World) => void;

const happening = (what: SessionEventBody) => (world: World) => world.happens(what);

/** Lets the caller speak for `ms`. Then the provider starts a reply on its own, if the session allows this. */
const speaks = (ms: number, answersAfterMs: number, n: number) => (world: World) => {
  world.happens({ type: 'voice_started', startMs: world.now(), streamMs: world.now() });
  world.pass(ms);
  world.happens({ type: 'turn_over', endMs: world.now() });
  const replyId = `own-${n}`;
  const mayAnswer = world.of('set_auto_reply').at(-1)?.autoReplies ?? true;
  world.pass(answersAfterMs);
  if (mayAnswer) begins(world, replyId);
};

/** Breaks the connection to the provider several times, each time for `ms`. */
const losesProvider = (times: number, ms: number) => (world: World) => {
  for (let n = 0; n < times; n += 1) {
    world.happens({ type: 'provider_lost' });
    world.pass(ms);
  }
  world.happens({ type: 'provider_back' });
};

function begins(world: World, replyId: string): void {
  const itemId = `${replyId}.item`;
  world.happens({ type: 'reply_begun', replyId });
  world.happens({ type: 'item_audio', itemId, replyId, ms: 2_000 });
  world.happens({ type: 'reply_heard', replyId, times: { startedMs: world.now() } });
  world.happens({ type: 'item_whole', itemId });
  world.happens({ type: 'reply_done', replyId });
}

const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 20, max: 9_000 }).map((ms) => (world: World) => world.pass(ms)) },
  {
    weight: 6,
    arbitrary: fc
      .tuple(fc.integer({ min: 20, max: 2_000 }), fc.constantFrom(0, 300, 2_500), fc.nat({ max: 999 }))
      .map(([ms, afterMs, n]) => speaks(ms, afterMs, n)),
  },
  { weight: 3, arbitrary: fc.stringMatching(/^[0-9*#]{1,5}$/).map((keys) => (world: World) => world.presses(keys)) },
  {
    weight: 6,
    arbitrary: fc
      .constantFrom<SessionEventBody>(
        { type: 'turn_over', endMs: 0 },
        { type: 'turn_words', text: 'Yes.', startMs: 1, endMs: 2 },
        { type: 'reply_wanted' },
        { type: 'reply_missed' },
        { type: 'reply_begun', replyId: 'wild' },
        { type: 'reply_done', replyId: 'wild' },
        { type: 'tool_called', replyId: 'wild', toolCallId: 'a', name: 'look_up', arguments: {} },
        { type: 'provider_lost' },
        { type: 'provider_back' },
        { type: 'ending_soon', secondsLeft: 20 },
        { type: 'line_opened' },
      )
      .map(happening),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 20, max: 5_000 }))
      .map(([times, ms]) => losesProvider(times, ms)),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom<SessionEventBody>(
        { type: 'provider_gone', part: 'model', message: 'the language model provider is gone' },
        { type: 'answered_by', who: 'voicemail' },
        { type: 'tool_finished', endsCall: true, ok: true },
      )
      .map(happening),
  },
);

const world = fc
  .record({
    action: fc.constantFrom('hang_up' as const, 'leave_message' as const, 'continue' as const),
    hasMessage: fc.boolean(),
    marks: fc.boolean(),
    speechMs: fc.constantFrom(0, 1_000, 12_000),
    acts: fc.array(act, { maxLength: 25 }),
  })
  .map(({ action, hasMessage, marks, speechMs, acts }) => {
    const capabilities = { endsTurns: 'engine', startsReplies: 'provider' } as const;
    const played = openWorld({ ...SETUP, capabilities, voicemail: { action, hasMessage } }, { marks, speechMs });
    played.happens({ type: 'line_opened' });
    for (const each of acts) each(played);
    return played;
  });

const always = (check: (played: World) => void) => fc.assert(fc.property(world, check), { numRuns: 300 });

describe('a session whose provider starts replies, with random events in random order', () => {
  it('sends no audio of an item after it was closed', () => {
    always((played) => {
      const closed = new Set<string>();
      const late = played.commands.filter(({ command }) => {
        if (command.type === 'close_item') closed.add(command.itemId);
        return command.type === 'send_audio' && closed.has(command.itemId);
      });
      expect(late).toEqual([]);
    });
  });

  it('requests no reply while another is in progress, unless it cancelled that one', () => {
    always((played) => {
      const cancelled = new Set<string>();
      const second = played.commands.filter(({ command, atMs, before, after }) => {
        if (command.type === 'cancel_reply') cancelled.add(command.replyId);
        const present = before.reply;
        if (command.type !== 'request_reply' || present?.running !== true) return false;
        // The request may be caused by the event that ends the current reply.
        const hasEnded = played.events.some(
          (event) => event.type === 'reply_done' && event.replyId === present.id && event.atMs <= atMs,
        );
        if (hasEnded) return false;
        return after.reply?.id !== present.id && !cancelled.has(present.id);
      });
      expect(second).toEqual([]);
    });
  });

  it('requests no reply while the caller speaks, except the message to an answering machine', () => {
    always((played) => {
      const into = played.commands.filter(
        ({ command, after }) =>
          command.type === 'request_reply' && after.turns.isOpen && after.reply?.kind !== 'message',
      );
      expect(into).toEqual([]);
    });
  });

  it('requests no more replies than its budget allows', () => {
    always((played) => {
      const { atOnce, oneMoreAfterMs } = SETUP.policy.replies;
      const requested = played.of('request_reply').length;
      expect(requested).toBeLessThanOrEqual(atOnce + Math.ceil(played.now() / oneMoreAfterMs) + 1);
    });
  });

  it('never says the filler twice in a row', () => {
    always((played) => expect(fillersInARow(played)).toEqual([]));
  });

  it('loses no DTMF digit', () => {
    always((played) => {
      played.happens({ type: 'stopped' });
      const pressed = played.events.flatMap((event) => (event.type === 'dtmf_digit' ? [event.digit] : [])).join('');
      const stored = played.stored().flatMap((turn) => /^caller: \(keys: (.*)\)$/.exec(turn)?.[1] ?? []);
      expect(stored.join('').replaceAll(' ', '')).toBe(pressed);
    });
  });

  it('ends after the caller falls silent, the provider completes its work and all timers fire', () => {
    always((played) => {
      played.happens({ type: 'provider_back' });
      played.happens({ type: 'turn_over', endMs: played.now() });
      played.happens({ type: 'reply_missed' });
      played.happens({ type: 'reply_done', replyId: played.state().reply?.id ?? '' });
      const before = played.events.length;
      played.pass(300_000);
      const ends = played.of('end').length + played.of('fail').length;
      const isEnded = ends > 0 || played.events.some((event) => event.type === 'tool_finished' && event.endsCall);
      expect(isEnded).toBe(true);
      expect(played.events.length - before).toBeLessThan(3_000);
    });
  });
});
