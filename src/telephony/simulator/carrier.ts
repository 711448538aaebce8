import type { CarrierDescription } from '../port.js';
import { createTwilioCarrier } from '../twilio/adapter.js';

/** The simulated carrier, which has the same API as Twilio. */
export const simulatedCarrier: CarrierDescription<'simulator'> = { kind: 'simulator', create: createTwilioCarrier };
