import type { Logger } from '../../platform/telemetry/logger.js';
import type { VoiceActivityDetector } from '../../voice/audio/voice-activity.js';
import type { CallRecord } from './call-record.js';
import type { Line } from './media/line.js';
import type { LineRecordings } from './media/line-recordings.js';
import type { Ticker } from './media/ticker.js';
import type { Scenario } from './scenario.js';
import type { Voices } from './voices.js';
import type { CustomerClient } from './webhook-client.js';

/** Dependencies shared by all calls of the carrier. */
export interface CarrierServices {
  logger: Logger;
  voices: Voices;
  ticker: Ticker;
  recordings: LineRecordings;
  webhooks: CustomerClient;
  /** Resolves when the end of a call of this account may be reported. */
  endTurn: (account: CallRecord['account']) => Promise<void>;
  newDetector(): VoiceActivityDetector;
  /** Returns the scenario of a number. */
  findScenario(number: string): Scenario;
  /**
   * Adds a call that a `<Dial>` placed to the calls of the carrier.
   * @param line of the call with the `<Dial>`
   * @param hangUp disconnects the dialed number
   */
  enterLeg(leg: CallRecord, line: Line, hangUp: () => void): void;
  /** Factor for the waiting times in scripts. Audio always runs in real time. */
  timeScale: number;
}
