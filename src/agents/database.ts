import type { Connection } from 'mongoose';
import type { IdentityDatabase } from '../identity/database.js';
import { agentSchema } from './model.js';
import { phoneNumberSchema } from './numbers/model.js';

/** Collections of the agents domain and of the domains it depends on. */
export type AgentsDatabase = IdentityDatabase & ReturnType<typeof agentsModels>;

export function agentsModels(connection: Connection) {
  return {
    agents: connection.model('Agent', agentSchema),
    phoneNumbers: connection.model('PhoneNumber', phoneNumberSchema),
  };
}
