import { randomUUID } from 'node:crypto';
import { mongo } from 'mongoose';
import { createCallResults } from '../../src/calls/wiring.js';
import { openDatabase, type Database } from '../../src/database.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import { createConversationRecord } from '../../src/voice/results/conversation-record.js';
import type { ConversationResults } from '../../src/voice/results/conversation-results.js';
import type { ConversationResultDocument } from '../../src/voice/results/model.js';
import { createResultWriter } from '../../src/voice/results/result-writer.js';
import { eventually } from '../support/http/harness.js';
import { sidOf } from '../support/sids.js';

const CHECKPOINT_BYTES = 8_192;

describe('a checkpoint of a call', () => {
  let database: Database;
  let results: ConversationResults;
  let updates: { at: number; bytes: number }[];

  beforeAll(async () => {
    const uri = `${process.env['TEST_MONGODB_URI']}/checkpoints_${randomUUID()}?monitorCommands=true`;
    database = await openDatabase(uri);
    results = createCallResults(database);
    database.connection.getClient().on('commandStarted', ({ command }) => {
      if (command['update'] !== 'conversation_results') return;
      updates.push({ at: performance.now(), bytes: mongo.BSON.calculateObjectSize(command['updates'] as object) });
    });
  });
  beforeEach(() => {
    updates = [];
  });
  afterAll(async () => {
    await database.connection.dropDatabase();
    await database.close();
  });

  let sessionCount = 0;
  function startSession(earlier: ConversationResultDocument | null = null, resumptions = 0) {
    sessionCount = earlier === null ? sessionCount + 1 : sessionCount;
    const beginning = {
      callId: `call_${sessionCount}`,
      streamId: sidOf('MZ', sessionCount * 100 + resumptions),
      carrierSid: sidOf('CA', sessionCount),
      engine: 'x',
      startedAt: new Date(),
      resumptions,
    };
    const record = createConversationRecord({ template: {}, offsetMs: 0, earlier });
    const writer = createResultWriter({
      results,
      beginning,
      logger: createLogger({ role: 'media', level: 'silent' }),
      onClaimed: (row) => row && record.takeOver(row),
      onSuperseded: () => undefined,
    });
    let turns = earlier?.turns.length ?? 0;
    /** Adds `count` turns to the session, one per second. */
    function say(count: number, text = 'Yes, that is right.'): void {
      for (let i = 0; i < count; i++, turns++) {
        record.addTurn({ speaker: 'agent', text, startMs: turns * 1_000, endMs: turns * 1_000 + 900 });
      }
    }
    return {
      callId: beginning.callId,
      record,
      writer,
      say,
      checkpoint: () => writer.checkpoint(() => record.progress()),
      stored: async () => (await results.find(beginning.callId))?.turns ?? [],
      finish: () =>
        writer.finish(() => ({
          ...beginning,
          ...record.progress(),
          summary: 'x',
          endedAt: new Date(),
          endReason: 'carrier_stop',
        })),
    };
  }

  it('writes only what is new, however long the call is', async () => {
    const call = startSession();
    call.say(5_000);
    await call.writer.suspend(() => call.record.progress());
    for (let count = 5_001; count <= 5_003; count++) {
      updates = [];
      call.say(1);
      call.checkpoint();
      await eventually(async () => (await call.stored()).length === count, 20_000);
      expect(Math.max(...updates.map(({ bytes }) => bytes))).toBeLessThan(CHECKPOINT_BYTES);
    }
    updates = [];
    expect(await call.finish()).toBe('stored');
    expect(Math.max(...updates.map(({ bytes }) => bytes))).toBeLessThan(CHECKPOINT_BYTES);
    expect(await call.stored()).toHaveLength(5_003);
  }, 60_000);

  it('is written every few seconds, however much is said', async () => {
    const call = startSession();
    await call.writer.claimed;
    const started = performance.now();
    while (performance.now() - started < 1_500) {
      call.say(1);
      call.checkpoint();
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(updates.length).toBeLessThanOrEqual(2);
    await eventually(async () => (await call.stored()).length === call.record.progress().turns.length, 10_000);
  }, 30_000);

  it('is written at once when audio was played, which decides who pays, even during another write', async () => {
    const call = startSession();
    call.say(1);
    call.checkpoint();
    await eventually(async () => updates.length === 1, 10_000);
    const before = updates[0]?.at ?? 0;
    call.record.markPlayed();
    call.writer.checkpoint(() => call.record.progress(), 'at once');
    await eventually(async () => (await results.find(call.callId))?.agentAudioPlayed === true, 10_000);
    expect((updates[1]?.at ?? Infinity) - before).toBeLessThan(1_500);
  }, 30_000);

  it('inserts a late turn at its position', async () => {
    const call = startSession();
    call.say(3);
    await call.writer.suspend(() => call.record.progress());
    call.say(2);
    call.record.addTurn({ speaker: 'caller', text: 'Hello?', startMs: 1_500, endMs: 9_000 });
    call.checkpoint();
    await eventually(async () => (await call.stored()).length === 6, 10_000);
    expect((await call.stored()).map(({ startMs }) => startMs)).toEqual([0, 1_000, 1_500, 2_000, 3_000, 4_000]);
  }, 30_000);

  it.each([
    ['turns', 30_000, 'Yes.'],
    ['text', 50, 'x'.repeat(100_000)],
  ])(
    'stays within the size of a document when there are more %s, and notes the cut',
    async (_, count, text) => {
      const call = startSession();
      call.say(count, text);
      expect(await call.writer.suspend(() => call.record.progress())).toBe('stored');
      const row = await results.find(call.callId);
      const resumed = startSession(row, 1);
      resumed.say(count, text);
      expect(await resumed.finish()).toBe('stored');
      const turns = await resumed.stored();
      expect(turns.length).toBeLessThanOrEqual(20_001);
      expect(turns.at(-1)?.text.slice(0, 100)).toMatch(/cut/);
      expect(turns.filter((turn) => turn.text.includes('cut'))).toHaveLength(1);
      expect(mongo.BSON.calculateObjectSize({ turns })).toBeLessThan(8 * 1_024 * 1_024);
    },
    60_000,
  );
});
