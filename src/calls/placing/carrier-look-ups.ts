import { ServiceError } from '../../kernel/errors.js';
import { createFairQueue, createFairQueues } from '../../platform/fair-queue.js';
import { serviceUnavailable, withDeadline } from '../../platform/http/deadline.js';
import type { CarrierApi, CarrierCall } from '../../telephony/port.js';

/** Look-ups of one account that a process sends at once, and those that wait. A carrier takes about 100 ms for each. */
const ACCOUNT_LIMITS = { maxRunning: 4, maxWaiting: 40, createFullError: tooManyLookUps };
/** The same for all accounts together, fewer than a carrier's client has connections (20). Accounts are served in turn. */
const PROCESS_LIMITS = { maxRunning: 16, maxWaiting: 400, createFullError: serviceUnavailable };
/** How long an answer is used for repeated requests. Short, because the call may end at any moment. */
const REMEMBERED_MS = 5_000;
const MAX_REMEMBERED = 2_000;

/** A call to look up for an account. */
interface LookUp {
  accountId: string;
  carrier: CarrierApi;
  carrierSid: string;
  /** In ms since the epoch. */
  deadline: number;
}

/**
 * Looks up calls at the carrier for requests that may be forged. Limits the requests to the carrier, per account and in
 * the process: without a limit, a flood would use up the requests that the carrier allows the operator, and those of
 * real calls would fail. Repeated requests share one look-up.
 */
export function createCarrierLookUps() {
  const ofAccounts = createFairQueues(ACCOUNT_LIMITS);
  const ofProcess = createFairQueue(PROCESS_LIMITS);
  /** Look-ups in progress or just done, oldest first. */
  const recent = new Map<string, { until: number; answer: Promise<CarrierCall | undefined> }>();

  function forgetOld(): void {
    for (const [key, { until }] of recent) {
      if (until > Date.now() && recent.size < MAX_REMEMBERED) break;
      recent.delete(key);
    }
  }

  /** A slot is held until the carrier has responded, even if the request has been answered by then. */
  function send({ accountId, carrier, carrierSid, deadline }: LookUp): Promise<CarrierCall | undefined> {
    const work = async () => {
      if (Date.now() >= deadline) throw serviceUnavailable();
      return carrier.fetch(carrierSid);
    };
    return ofAccounts.run(accountId, {}, () => ofProcess.run({ groups: [accountId] }, work));
  }

  function find(lookUp: LookUp): Promise<CarrierCall | undefined> {
    forgetOld();
    const { accountId, carrier, carrierSid } = lookUp;
    // The account belongs to the key, so that one account cannot delay or end the look-ups of another. So does the
    // carrier account, because a call that it does not know may be a call of another one.
    const key = `${accountId} ${carrier.account?.id ?? ''} ${carrierSid}`;
    const known = recent.get(key);
    if (known !== undefined) return known.answer;
    const entry = { until: Date.now() + REMEMBERED_MS, answer: send(lookUp) };
    recent.set(key, entry);
    entry.answer.catch(() => recent.get(key) === entry && recent.delete(key));
    return entry.answer;
  }

  return {
    /**
     * Finds a call at the carrier; undefined if the carrier does not know it.
     * @throws ServiceError RATE_LIMIT_EXCEEDED when too many look-ups of the account wait; SERVICE_UNAVAILABLE when too
     * many wait in all, or the deadline passes; or what the carrier's client throws
     */
    find: (lookUp: LookUp): Promise<CarrierCall | undefined> => withDeadline(lookUp.deadline, find(lookUp)),
  };
}

function tooManyLookUps(): ServiceError {
  return new ServiceError(
    'RATE_LIMIT_EXCEEDED',
    'Too many inbound calls of this account are being checked at the carrier. Retry in a moment.',
  );
}
