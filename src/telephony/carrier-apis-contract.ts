import { TWILIO_API } from './twilio/contract.js';

/** The APIs by which carriers call this service. Made by `npm run structure` from what their folders export. */
export const CARRIER_APIS = [TWILIO_API] as const;
