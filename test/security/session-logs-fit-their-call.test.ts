import type { EngineResult } from '../../src/voice/engines/port.js';
import { createConversationRecord } from '../../src/voice/results/conversation-record.js';
import type { ConversationResultDocument } from '../../src/voice/results/model.js';
import { SESSION_POLICY } from '../../src/voice/session/reducer/policy.js';
import { createSessionRecorder } from '../../src/voice/session/session-recorder.js';

const MAX_DOCUMENT_BYTES = 16 * 1_024 * 1_024;
/** A cuneiform sign: two UTF-16 units, and four bytes. */
const CUNEIFORM_SIGN = '𒀀';

/** Builds the log of a stream with the maximum amount of speech that a log may keep. */
function fullLog(): string {
  const recorder = createSessionRecorder({
    policy: SESSION_POLICY,
    capabilities: { endsTurns: 'engine' },
    voicemail: { action: 'continue', hasMessage: false },
    resumed: false,
    introduced: false,
  } as never);
  for (let n = 0; n < 1_000; n++) {
    recorder.record({ type: 'item_words', itemId: `i${n}`, text: CUNEIFORM_SIGN.repeat(4_000), atMs: n } as never);
  }
  return JSON.stringify(recorder.log());
}

describe('the session logs of a call', () => {
  it('are measured in bytes, as they are stored', () => {
    expect(Buffer.byteLength(fullLog())).toBeLessThan(2_100_000);
  });

  it('fit beside the longest transcript, however often the stream was lost', () => {
    const sessionLog = fullLog();
    let earlier: ConversationResultDocument | null = null;
    for (let stream = 0; stream < 8; stream++) {
      const record = createConversationRecord({ template: {}, offsetMs: stream * 1_000, earlier });
      for (let n = 0; n < 4_000; n++) {
        record.addTurn({ speaker: 'caller', text: 'x'.repeat(500), startMs: n, endMs: n });
      }
      const result: EngineResult = { summary: '', outputParameters: {}, sessionLogs: [sessionLog] };
      record.setResult(result);
      earlier = record.progress() as unknown as ConversationResultDocument;
    }
    const logs = (earlier as ConversationResultDocument).sessionLogs ?? [];
    expect(logs.length).toBeGreaterThan(0);
    expect(Buffer.byteLength(JSON.stringify(earlier))).toBeLessThan(MAX_DOCUMENT_BYTES - 2 ** 20);
    expect(logs[0]).toBe(sessionLog);
  });
});
