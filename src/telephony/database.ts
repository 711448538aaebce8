import type { Connection } from 'mongoose';
import type { AgentsDatabase } from '../agents/database.js';
import { carrierBindingSchema } from './carrier-binding-model.js';
import { carrierEventSchema } from './carrier-event-model.js';
import { accountAttemptSchema, destinationCountSchema, unansweredAttemptSchema } from './destinations/model.js';
import { dialPacingSchema } from './pacing/model.js';
import { webLegSchema } from './web/leg-model.js';

/** The collections of telephony and of the domains it depends on. */
export type TelephonyDatabase = AgentsDatabase & ReturnType<typeof telephonyModels>;

export function telephonyModels(connection: Connection) {
  return {
    accountAttempts: connection.model('AccountAttempt', accountAttemptSchema),
    carrierBindings: connection.model('CarrierBinding', carrierBindingSchema),
    carrierEvents: connection.model('CarrierEvent', carrierEventSchema),
    destinationCounts: connection.model('DestinationCount', destinationCountSchema),
    dialPacing: connection.model('DialPacing', dialPacingSchema),
    unansweredAttempts: connection.model('UnansweredAttempt', unansweredAttemptSchema),
    webLegs: connection.model('WebLeg', webLegSchema),
  };
}
