import type { Logger } from '../../platform/telemetry/logger.js';
import type { VoiceActivityDetector } from '../../voice/audio/voice-activity.js';
import type { Ticker } from './media/ticker.js';
import type { Scenario } from './scenario.js';
import type { Voices } from './voices.js';
import type { CallbackClient } from './webhook-client.js';

/** Dependencies shared by all calls of the carrier. */
export interface Plant {
  logger: Logger;
  voices: Voices;
  ticker: Ticker;
  webhooks: CallbackClient;
  newDetector(): VoiceActivityDetector;
  /** The scenario of a number. */
  scenarioOf(number: string): Scenario;
  /** Multiplies scripted waits; audio always runs in real time. */
  timeScale: number;
}
