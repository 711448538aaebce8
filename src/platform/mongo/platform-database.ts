import type { Connection } from 'mongoose';
import type { MongoDatabase } from './connection.js';
import { deploymentSecretSchema } from '../secrets/model.js';
import { migrationSchema } from './migration-model.js';
import { serverClockSchema } from './server-clock-model.js';
import { rateLimitSchema } from '../http/rate-limits/rate-limit-model.js';

/** The connection and the platform's own collections. */
export type PlatformDatabase = MongoDatabase & ReturnType<typeof platformModels>;

export function platformModels(connection: Connection) {
  return {
    migrations: connection.model('Migration', migrationSchema),
    deploymentSecrets: connection.model('DeploymentSecret', deploymentSecretSchema),
    serverClocks: connection.model('ServerClock', serverClockSchema),
    rateLimits: connection.model('RateLimit', rateLimitSchema),
  };
}
