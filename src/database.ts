import type { Connection } from 'mongoose';
import { agentsModels } from './agents/database.js';
import { billingModels } from './billing/database.js';
import { callsModels, type CallsDatabase } from './calls/database.js';
import { createCachedCredentials } from './identity/credentials/cached-credentials.js';
import { identityModels } from './identity/database.js';
import { openConnection, type ConnectionOptions } from './platform/mongo/connection.js';
import { platformModels } from './platform/mongo/platform-database.js';
import { telephonyModels } from './telephony/database.js';
import { voiceModels } from './voice/database.js';
import { webhooksModels } from './webhooks/database.js';

/** The collections of every domain. */
export type Database = CallsDatabase;

/**
 * Connects to the database and creates the models of all collections.
 * @throws MongooseServerSelectionError when no server answers within `waitMs`
 */
export async function openDatabase(uri: string, options: ConnectionOptions = {}): Promise<Database> {
  const database = await openConnection(uri, options);
  const models = modelsOn(database.connection);
  return { ...database, ...models, credentials: createCachedCredentials(database, models.credentialEpochs) };
}

/** Creates the models of all collections on a connection. */
export function modelsOn(connection: Connection) {
  return {
    ...platformModels(connection),
    ...billingModels(connection),
    ...identityModels(connection),
    ...agentsModels(connection),
    ...telephonyModels(connection),
    ...webhooksModels(connection),
    ...voiceModels(connection),
    ...callsModels(connection),
  };
}
