import { setTimeout as sleep } from 'node:timers/promises';
import { createMouth, type LineOver, type Mouth } from '../../src/voice/engines/offline/mouth.js';
import { SESSION_POLICY } from '../../src/voice/session/reducer/policy.js';
import { runSession } from '../../src/voice/session/run-session.js';
import { silence } from '../support/spoken';

const SETUP = {
  policy: SESSION_POLICY,
  capabilities: { endsTurns: 'engine' },
  voicemail: { action: 'hang_up', hasMessage: false },
  resumed: true,
  introduced: true,
} as const;

/** A mouth whose voice takes 4 s for the word "late", and the session that asks it for lines. */
function openMouth() {
  const transcript: string[] = [];
  const made: Promise<void>[] = [];
  const origin = performance.now();
  const now = () => performance.now() - origin;
  const session = runSession({
    setup: SETUP,
    now,
    perform(command) {
      if (command.type === 'send_audio') mouth.send(command.itemId);
      if (command.type === 'close_item') mouth.close(command);
      if (command.type === 'store_turn') transcript.push(command.text);
      if (command.type !== 'request_reply') return;
      const { replyId: id, task } = command;
      made.push(mouth.say({ itemId: 'item-1', parts: ['early', 'late'], reply: { id, task } }));
    },
  });
  const mouth: Mouth = createMouth({
    async speak(text) {
      if (text === 'late') await sleep(4_000);
      return silence(200);
    },
    sink: { audio: () => undefined, endOfItem: () => undefined },
    now,
    happened: session.happened,
    onOver: () => undefined,
  });
  return { session, transcript, made, isSaying: () => session.state().playback.items.length > 0 };
}

describe('a line of the agent', () => {
  it.each([
    ['cut off before its question was made', 1_000, 900, 0],
    ['cut off in its question', Infinity, 2_600, 600],
    ['that asks nothing', Infinity, 2_600, undefined],
  ])('tells how much of its question was heard: one %s', async (_, givesUpAfterMs, playedMs, questionMs) => {
    const lines: LineOver[] = [];
    let spokenMs = 0;
    let give: () => void = () => undefined;
    const never = new Promise<void>((resolve) => (give = resolve));
    const mouth = createMouth({
      async speak() {
        if (spokenMs >= givesUpAfterMs) await never;
        spokenMs += 1_000;
        return silence(1_000);
      },
      sink: { audio: () => undefined, endOfItem: () => undefined },
      now: () => 0,
      happened: () => undefined,
      onOver: (line) => lines.push(line),
    });
    const asks = questionMs === undefined ? {} : { questionAt: 2 };
    const said = mouth.say({ itemId: 'item-1', parts: ['one', 'two', 'Agreed?', 'Yes or no?'], ...asks });
    if (givesUpAfterMs === Infinity) await said;
    mouth.close({ type: 'close_item', itemId: 'item-1', kind: 'reply', playedMs, complete: false, startMs: 0 });
    give();
    await said;
    expect(lines).toEqual([{ playedMs, complete: false, ...(questionMs === undefined ? {} : { questionMs }) }]);
  });

  it('goes on while the voice is late with its second part, and counts as heard when only its last mark is lost', async () => {
    const { session, transcript, made, isSaying } = openMouth();
    session.happened({ type: 'line_opened' });
    await sleep(3_600);
    expect(isSaying()).toBe(true);
    await made[0];
    session.happened({ type: 'item_played', itemId: 'item-1', playedMs: 200, complete: false });
    await sleep(2_500);
    expect(isSaying()).toBe(true);
    await sleep(1_100);
    expect(isSaying()).toBe(false);
    expect(transcript).toEqual(['early late']);
    session.happened({ type: 'stopped' });
  });
});
