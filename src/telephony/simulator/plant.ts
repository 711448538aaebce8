import type { Logger } from '../../platform/telemetry/logger.js';
import type { VoiceActivityDetector } from '../../voice/audio/voice-activity.js';
import type { Ticker } from './media/ticker.js';
import type { Scenario } from './scenario.js';
import type { Voices } from './voices.js';
import type { CallbackClient } from './webhook-client.js';

/** What all calls of the carrier share. */
export interface Plant {
  logger: Logger;
  voices: Voices;
  ticker: Ticker;
  webhooks: CallbackClient;
  newDetector(): VoiceActivityDetector;
  /** What the far end of a number does. */
  scenarioOf(number: string): Scenario;
  /** Scripted waits are multiplied by it; audio always runs in real time. */
  timeScale: number;
}
