import type { Config } from '../../platform/config/config.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import { accountsOfMode } from '../../telephony/accounts/account-of-call.js';
import type { CallRequestDocument } from '../call-request-model.js';
import type { CallsDatabase } from '../database.js';

/** The longest call, and some time to ring and to end. */
const LONGEST_CALL_MS = 5 * 60 * 60_000;
const MAX_FOUND = 20;
const TIMEOUT_MS = 2_000;

/**
 * Finds carrier accounts that are not configured and have calls that may be in progress: requests of the last five hours.
 * @returns ids of accounts, at most 20
 */
export async function findMissingAccounts(
  { carriers }: Pick<Config, 'carriers'>,
  database: CallsDatabase,
): Promise<string[]> {
  const known = (['live', 'test'] as const).flatMap((mode) => accountsOfMode(carriers, mode));
  const createdAt = { $gte: new Date(Date.now() - LONGEST_CALL_MS) };
  const found: string[] = [];
  while (found.length < MAX_FOUND) {
    const $nin = [...known.map(({ carrierAccountId }) => carrierAccountId), ...found];
    const request = await database.callRequests
      .findOne({ createdAt, carrierAccountId: { $exists: true, $nin } }, { carrierAccountId: 1 })
      .maxTimeMS(TIMEOUT_MS)
      .lean<Pick<CallRequestDocument, 'carrierAccountId'>>();
    if (request?.carrierAccountId === undefined) return found;
    found.push(request.carrierAccountId);
  }
  return found;
}

/** Writes one line per missing account to the log. A failure is only logged, because a process must start anyway. */
export async function logMissingAccounts(
  config: Pick<Config, 'carriers'>,
  database: CallsDatabase,
  logger: Logger,
): Promise<void> {
  try {
    for (const carrierAccountId of await findMissingAccounts(config, database)) {
      logger.error(
        { carrierAccountId, remedy: 'Add the account to CARRIER_ACCOUNTS_FILE until its calls have ended.' },
        'calls may be in progress on a carrier account that is not configured',
      );
    }
  } catch (error) {
    logger.warn({ err: error }, 'calls of carrier accounts that are not configured could not be looked for');
  }
}
