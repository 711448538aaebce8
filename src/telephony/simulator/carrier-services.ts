import type { Logger } from '../../platform/telemetry/logger.js';
import type { VoiceActivityDetector } from '../../voice/audio/voice-activity.js';
import type { Ticker } from './media/ticker.js';
import type { Scenario } from './scenario.js';
import type { Voices } from './voices.js';
import type { CustomerClient } from './webhook-client.js';

/** Dependencies shared by all calls of the carrier. */
export interface CarrierServices {
  logger: Logger;
  voices: Voices;
  ticker: Ticker;
  webhooks: CustomerClient;
  newDetector(): VoiceActivityDetector;
  /** Returns the scenario of a number. */
  findScenario(number: string): Scenario;
  /** Factor for the waiting times in scripts. Audio always runs in real time. */
  timeScale: number;
}
