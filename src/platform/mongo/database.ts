import mongoose, { type ClientSession, type Connection, type mongo } from 'mongoose';
import type { Config } from '../config/config.js';
import { accountFreezeSchema } from '../../calls/reconciliation/account-freeze-model.js';
import { accountSchema } from '../../identity/accounts/model.js';
import { agentSchema } from '../../agents/model.js';
import { apiKeySchema } from '../../identity/api-keys/model.js';
import { auditEntrySchema } from '../../identity/access/audit-entry-model.js';
import { callRequestSchema } from '../../calls/call-request-model.js';
import { callSchema } from '../../calls/call-model.js';
import { carrierBindingSchema } from '../../telephony/carrier-binding-model.js';
import { carrierEventSchema } from '../../telephony/carrier-event-model.js';
import { conversationResultSchema } from '../../voice/results/model.js';
import { deploymentSecretSchema } from '../secrets/model.js';
import { destinationCountSchema, unansweredAttemptSchema } from '../../telephony/destinations/model.js';
import { dialPacingSchema } from '../../telephony/pacing/model.js';
import { idempotencyKeySchema } from '../../calls/placing/idempotency-key-model.js';
import { leaseSchema, ledgerAccountSchema, ledgerEntrySchema } from '../../billing/ledger/model.js';
import { paymentSchema } from '../../billing/payments/model.js';
import { phoneNumberSchema } from '../../agents/numbers/model.js';
import { rateLimitSchema } from '../http/rate-limit-model.js';
import { recordingFileSchema } from '../../voice/recordings/model.js';
import { checkSchema, cursorSchema, findingSchema } from '../../calls/reconciliation/model.js';
import {
  emailLinkSchema,
  invitationSchema,
  sessionSchema,
  unverifiedUserSchema,
  userSchema,
} from '../../identity/people/model.js';
import { webhookAttemptSchema, webhookDeliverySchema } from '../../webhooks/model.js';

export type Database = Awaited<ReturnType<typeof openDatabase>>;

/** How long one operation may take, server selection included, before its caller is told that the database is away. */
const OPERATION_TIMEOUT_MS = 4_000;

interface ConnectionOptions {
  waitMs?: number;
  poolSize?: number;
}

/**
 * Connects and makes the models of every collection on a connection of its own. Works alike on a replica set, on a
 * single server and on the embedded one. The server is asked what it is, because an address need not tell: a replica set
 * gets majority reads and writes, the others have no sessions and no retryable writes.
 * @throws MongooseServerSelectionError when no server answers within `waitMs`
 */
export async function openDatabase(uri: string, options: ConnectionOptions = {}) {
  let connection = await connect(uri, options, false);
  // The old name of `hello`, which every server knows.
  const replicated = isReplicated(await connection.db?.admin().command({ isMaster: 1 }));
  if (replicated) {
    // Concerns are fixed when a client is made.
    await connection.close();
    connection = await connect(uri, options, true);
  }
  return { ...modelsOn(connection), connection, replicated, close: () => connection.close() };
}

/**
 * Production keeps money in the database: a single server may lose what it has acknowledged.
 * @throws Error in production when it is no replica set and that was not allowed
 */
export function requireReplicaSet(
  config: Pick<Config, 'production' | 'standaloneMongodbAllowed'>,
  { replicated }: Pick<Database, 'replicated'>,
): void {
  if (!config.production || replicated || config.standaloneMongodbAllowed) return;
  throw new Error(
    'MONGODB_URI must lead to a replica set in production, because a single server may lose acknowledged writes; set ' +
      'ALLOW_STANDALONE_MONGODB=true to run on one all the same.',
  );
}

/** Whether a server's answer to `hello` is that of a replica-set member, or of a router in front of some. */
export function isReplicated(hello: mongo.Document | undefined): boolean {
  return typeof hello?.setName === 'string' || hello?.msg === 'isdbgrid';
}

async function connect(uri: string, options: ConnectionOptions, replicated: boolean): Promise<Connection> {
  const connection = mongoose.createConnection(uri, {
    serverSelectionTimeoutMS: options.waitMs ?? OPERATION_TIMEOUT_MS,
    socketTimeoutMS: 10_000,
    maxPoolSize: options.poolSize ?? 20,
    autoIndex: false,
    autoCreate: false,
    bufferCommands: false,
    retryWrites: replicated,
    retryReads: true,
    ...(replicated ? { readConcernLevel: 'majority' as const, w: 'majority' as const, journal: true } : {}),
  });
  return connection.asPromise();
}

function modelsOn(connection: Connection) {
  return {
    accounts: connection.model('Account', accountSchema),
    accountFreezes: connection.model('AccountFreeze', accountFreezeSchema),
    agents: connection.model('Agent', agentSchema),
    apiKeys: connection.model('ApiKey', apiKeySchema),
    phoneNumbers: connection.model('PhoneNumber', phoneNumberSchema),
    callRequests: connection.model('CallRequest', callRequestSchema),
    auditEntries: connection.model('AuditEntry', auditEntrySchema),
    calls: connection.model('Call', callSchema),
    carrierBindings: connection.model('CarrierBinding', carrierBindingSchema),
    carrierEvents: connection.model('CarrierEvent', carrierEventSchema),
    conversationResults: connection.model('ConversationResult', conversationResultSchema),
    webhookDeliveries: connection.model('WebhookDelivery', webhookDeliverySchema),
    webhookAttempts: connection.model('WebhookAttempt', webhookAttemptSchema),
    deploymentSecrets: connection.model('DeploymentSecret', deploymentSecretSchema),
    destinationCounts: connection.model('DestinationCount', destinationCountSchema),
    dialPacing: connection.model('DialPacing', dialPacingSchema),
    idempotencyKeys: connection.model('IdempotencyKey', idempotencyKeySchema),
    invitations: connection.model('Invitation', invitationSchema),
    sessions: connection.model('Session', sessionSchema),
    unansweredAttempts: connection.model('UnansweredAttempt', unansweredAttemptSchema),
    emailLinks: connection.model('EmailLink', emailLinkSchema),
    unverifiedUsers: connection.model('UnverifiedUser', unverifiedUserSchema),
    users: connection.model('User', userSchema),
    ledgerAccounts: connection.model('LedgerAccount', ledgerAccountSchema),
    ledgerEntries: connection.model('LedgerEntry', ledgerEntrySchema),
    leases: connection.model('Lease', leaseSchema),
    payments: connection.model('Payment', paymentSchema),
    recordingFiles: connection.model('RecordingFile', recordingFileSchema),
    rateLimits: connection.model('RateLimit', rateLimitSchema),
    reconciliationChecks: connection.model('ReconciliationCheck', checkSchema),
    reconciliationCursors: connection.model('ReconciliationCursor', cursorSchema),
    reconciliationFindings: connection.model('ReconciliationFinding', findingSchema),
  };
}

/** Builds the indexes that uniqueness depends on; safe to repeat, run once by the launcher or at deployment. */
export async function createIndexes(database: Database): Promise<void> {
  for (const model of Object.values(database.connection.models)) await model.createIndexes();
}

/**
 * Reads in a causally consistent session on a replica set, so that a later read sees at least what an earlier one saw; a
 * single or embedded server needs none.
 */
export async function* inCausalOrder<T>(
  database: Database,
  read: (session?: ClientSession) => AsyncIterable<T>,
): AsyncGenerator<T> {
  if (!database.replicated) {
    yield* read();
    return;
  }
  const session = database.connection.getClient().startSession({ causalConsistency: true });
  try {
    yield* read(session);
  } finally {
    await session.endSession();
  }
}

/** Whether an error says that a document with this key exists already. */
export function isDuplicateKey(error: unknown): boolean {
  return typeof error === 'object' && error !== null && (error as { code?: unknown }).code === 11_000;
}
