import type { EngineResult } from '../../src/voice/engines/port.js';
import { createConversationRecord } from '../../src/voice/results/conversation-record.js';
import type { ConversationResultDocument } from '../../src/voice/results/model.js';
import { SESSION_POLICY } from '../../src/voice/session/reducer/policy.js';
import { createSessionRecorder } from '../../src/voice/session/session-recorder.js';

const MOST_OF_A_DOCUMENT = 16 * 1_024 * 1_024;
/** A cuneiform sign: two characters, and four bytes. */
const DEAR = '𒀀';

/** The log of a stream on which as much was said as a log keeps. */
function fullLog(): string {
  const recorder = createSessionRecorder({
    policy: SESSION_POLICY,
    capabilities: { endsTurns: 'engine' },
    voicemail: { action: 'continue', hasMessage: false },
    resumed: false,
    introduced: false,
  } as never);
  for (let n = 0; n < 1_000; n++) {
    recorder.record({ type: 'item_words', itemId: `i${n}`, text: DEAR.repeat(4_000), atMs: n } as never);
  }
  return JSON.stringify(recorder.log());
}

describe('the recorded sessions of a call', () => {
  it('are counted in bytes, as they are stored', () => {
    expect(Buffer.byteLength(fullLog())).toBeLessThan(2_100_000);
  });

  it('have room beside the longest transcript, however often its stream was lost', () => {
    const sessionLog = fullLog();
    let earlier: ConversationResultDocument | null = null;
    for (let stream = 0; stream < 8; stream++) {
      const record = createConversationRecord({ template: {}, offsetMs: stream * 1_000, earlier });
      for (let n = 0; n < 4_000; n++) {
        record.addTurn({ speaker: 'caller', text: 'x'.repeat(500), startMs: n, endMs: n });
      }
      const result: EngineResult = { summary: '', outputParameters: {}, sessionLog };
      record.setResult(result);
      earlier = record.progress() as unknown as ConversationResultDocument;
    }
    const logs = (earlier as ConversationResultDocument).sessionLogs ?? [];
    expect(logs.length).toBeGreaterThan(0);
    expect(Buffer.byteLength(JSON.stringify(earlier))).toBeLessThan(MOST_OF_A_DOCUMENT - 2 ** 20);
    expect(logs[0]).toBe(sessionLog);
  });
});
