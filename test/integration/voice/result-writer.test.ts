import { createCallResults } from '../../../src/calls/wiring.js';
import { randomUUID } from 'node:crypto';
import { createResultWriter } from '../../../src/voice/results/result-writer.js';
import { openDatabase } from '../../../src/database.js';
import { createLogger } from '../../../src/platform/telemetry/logger.js';
import { startGate } from './support/gate';
import { sidOf } from '../../support/sids.js';

const logger = createLogger({ role: 'media', level: 'silent' });

describe('a result when the database is unavailable for too long', () => {
  it.each(['end', 'suspension'])(
    'is given up after the %s, and its claim resolves as false',
    async (event) => {
      const gate = await startGate((process.env['TEST_MONGODB_URI'] ?? '').replace('mongodb://', ''));
      const database = await openDatabase(`mongodb://${gate.address}/writer_${randomUUID()}`, { waitMs: 300 });
      gate.shut();
      const startedAt = new Date();
      const beginning = {
        callId: 'call_1',
        streamId: sidOf('MZ', 1),
        carrierSid: sidOf('CA', 1),
        engine: 'x',
        startedAt,
      };
      const writer = createResultWriter({
        results: createCallResults(database),
        beginning,
        logger,
        onClaimed: () => undefined,
        onSuperseded: () => undefined,
        giveUpAfterMs: 1_000,
      });
      const progress = { agentAudioPlayed: true, turns: [], outputParameters: '{}' };
      const ending = {
        ...beginning,
        ...progress,
        summary: 'x',
        endedAt: startedAt,
        endReason: 'carrier_stop' as const,
      };
      const kept = event === 'end' ? writer.finish(() => ending) : writer.suspend(() => progress);
      expect(await kept).toBe('given_up');
      expect(await writer.claimed).toBe(false);
      await database.close();
      await gate.close();
    },
    20_000,
  );
});
