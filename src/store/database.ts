import mongoose, { type Connection } from 'mongoose';
import { accountSchema } from './models/account.js';
import { agentSchema } from './models/agent.js';
import { apiKeySchema } from './models/api-key.js';
import { callRequestSchema } from './models/call-request.js';
import { callSchema } from './models/call.js';
import { carrierBindingSchema } from './models/carrier-binding.js';
import { conversationResultSchema } from './models/conversation-result.js';
import { destinationCountSchema } from './models/destination-count.js';
import { dialPacingSchema } from './models/dial-pacing.js';
import { idempotencyKeySchema } from './models/idempotency-key.js';
import { leaseSchema, ledgerAccountSchema, ledgerEntrySchema } from './models/ledger.js';
import { phoneNumberSchema } from './models/phone-number.js';
import { rateLimitSchema } from './models/rate-limit.js';
import { webhookAttemptSchema, webhookDeliverySchema } from './models/webhook.js';

export type Database = Awaited<ReturnType<typeof openDatabase>>;

/** How long one operation may take, server selection included, before its caller is told that the database is away. */
const OPERATION_TIMEOUT_MS = 4_000;

/**
 * Connects and makes the models of every collection on a connection of its own. Works alike on a replica set, on a
 * single server and on the embedded one, which has no sessions: hence no retryable writes unless the address asks.
 * @throws MongooseServerSelectionError when no server answers within `waitMs`
 */
export async function openDatabase(uri: string, options: { waitMs?: number; poolSize?: number } = {}) {
  const replicaSet = /[?&]replicaSet=/.test(uri);
  const connection = mongoose.createConnection(uri, {
    serverSelectionTimeoutMS: options.waitMs ?? OPERATION_TIMEOUT_MS,
    socketTimeoutMS: 10_000,
    maxPoolSize: options.poolSize ?? 20,
    autoIndex: false,
    autoCreate: false,
    bufferCommands: false,
    retryWrites: replicaSet,
    retryReads: true,
    ...(replicaSet ? { readConcernLevel: 'majority' as const, w: 'majority' as const, journal: true } : {}),
  });
  await connection.asPromise();
  return { ...modelsOn(connection), connection, close: () => connection.close() };
}

function modelsOn(connection: Connection) {
  return {
    accounts: connection.model('Account', accountSchema),
    agents: connection.model('Agent', agentSchema),
    apiKeys: connection.model('ApiKey', apiKeySchema),
    phoneNumbers: connection.model('PhoneNumber', phoneNumberSchema),
    callRequests: connection.model('CallRequest', callRequestSchema),
    calls: connection.model('Call', callSchema),
    carrierBindings: connection.model('CarrierBinding', carrierBindingSchema),
    conversationResults: connection.model('ConversationResult', conversationResultSchema),
    webhookDeliveries: connection.model('WebhookDelivery', webhookDeliverySchema),
    webhookAttempts: connection.model('WebhookAttempt', webhookAttemptSchema),
    destinationCounts: connection.model('DestinationCount', destinationCountSchema),
    dialPacing: connection.model('DialPacing', dialPacingSchema),
    idempotencyKeys: connection.model('IdempotencyKey', idempotencyKeySchema),
    ledgerAccounts: connection.model('LedgerAccount', ledgerAccountSchema),
    ledgerEntries: connection.model('LedgerEntry', ledgerEntrySchema),
    leases: connection.model('Lease', leaseSchema),
    rateLimits: connection.model('RateLimit', rateLimitSchema),
  };
}

/** Builds the indexes that uniqueness depends on; safe to repeat, run once by the launcher or at deployment. */
export async function createIndexes(database: Database): Promise<void> {
  for (const model of Object.values(database.connection.models)) await model.createIndexes();
}

/** Whether an error says that a document with this key exists already. */
export function isDuplicateKey(error: unknown): boolean {
  return typeof error === 'object' && error !== null && (error as { code?: unknown }).code === 11_000;
}
