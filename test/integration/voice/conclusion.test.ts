import { createUsageMeter } from '../../../src/voice/engines/engine-usage.js';
import type { TranscriptTurn } from '../../../src/voice/engines/port.js';
import { createChatClient } from '../../../src/voice/models/chat-client.js';
import { concludeCall } from '../../../src/voice/models/conclusion.js';
import { createLogger } from '../../../src/platform/telemetry/logger.js';
import { openFakeChat, type FakeChat } from './fakes/chat-completions';
import { CALL } from './support/contract-call';

const WITHIN_MS = 1_000;
const TURNS: TranscriptTurn[] = [{ speaker: 'caller', text: 'Good morning.', startMs: 0, endMs: 900 }];

describe('the conclusion of a call', () => {
  let first: FakeChat;
  let second: FakeChat;
  beforeEach(async () => {
    [first, second] = [await openFakeChat(), await openFakeChat()];
  });
  afterEach(() => Promise.all([first.close(), second.close()]));

  function conclude(models: readonly FakeChat[]) {
    const chats = models.map(({ port }) => ({
      chat: createChatClient({ baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: 'llm-key', model: 'gpt-6-luna' }),
      usage: createUsageMeter({}),
    }));
    const logger = createLogger({ role: 'media', level: 'silent' });
    const call = { ...CALL, outputTemplate: {} };
    return concludeCall({ chats, call, turns: TURNS, withinMs: WITHIN_MS, logger });
  }

  it('comes from the next model if the first one hangs', async () => {
    first.hang();
    expect((await conclude([first, second])).summary).toBe('The appointment was talked about.');
  });

  it('is without a model if all of them hang, in time', async () => {
    first.hang();
    second.hang();
    const began = performance.now();
    expect((await conclude([first, second])).summary).toContain('no summary could be created');
    expect(performance.now() - began).toBeLessThan(WITHIN_MS + 500);
  });
});
