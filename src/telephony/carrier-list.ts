import type { CarrierList } from './port.js';
import { simulatedCarrier } from './simulator/carrier.js';
import { twilioCarrier } from './twilio/adapter.js';

/** The factory of each carrier, by its kind. Made by `npm run structure` from what their folders export. */
export const CARRIERS: CarrierList = {
  [simulatedCarrier.kind]: simulatedCarrier.create,
  [twilioCarrier.kind]: twilioCarrier.create,
};
