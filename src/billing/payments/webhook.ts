import type { Config } from '../../platform/config/config.js';
import { CheckoutSession, PaymentEvent } from './schemas.js';
import type { paymentRoutes } from '../contract.js';
import { noSuchEndpoint } from '../../kernel/common-errors.js';
import { ServiceError } from '../../kernel/errors.js';
import type { Mode } from '../../kernel/ids.js';
import { MICROS_PER_USD } from '../../kernel/money.js';
import type { BillingDatabase } from '../database.js';
import type { Ledger } from '../ledger/ledger.js';
import { creditPayment } from './payments.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import { report } from '../../platform/telemetry/measurements.js';
import type { ApiContext } from '../../platform/http/context.js';
import { withDeadline } from '../../platform/http/deadline.js';
import { parseJsonObject } from '../../platform/http/json-body.js';
import { readBody, utf8 } from '../../platform/http/raw-body.js';
import { requireHttps } from '../../platform/http/security.js';
import type { Handlers } from '../../platform/http/routing/handlers.js';
import type { ReadSigned, SignedRequests } from '../../platform/http/signed-requests.js';
import { validated } from '../../platform/http/validation.js';
import { isPaymentSignature, mayBePaymentSignature } from './signature.js';
import { creditedCents, isTopUp } from './top-up.js';

/** Maximum size of an event. Most have a few KiB, and 50 metadata fields of maximum length add about 30 KiB. */
const MAX_EVENT_BYTES = 64 * 1_024;
const MICROS_PER_CENT = MICROS_PER_USD / 100;

/** The provider waits longer than API clients, and resends an event for days until it receives a 2xx response. */
const RESPONSE_TIMEOUT_MS = 8_000;

/** Looks up accounts; implemented by the identity domain. */
export interface AccountLookup {
  find(accountId: string): Promise<object | null>;
}

export interface PaymentWebhookDeps {
  config: Config;
  database: BillingDatabase;
  signedRequests: SignedRequests;
  accounts: AccountLookup;
  ledger: Ledger;
  logger: Logger;
}

/**
 * Handles POST /webhooks/payments: credits an account once for each paid checkout session of a top-up, even if the event
 * arrives repeatedly or concurrently. Rejected events change nothing.
 */
export function createPaymentHandlers(deps: PaymentWebhookDeps): Handlers<typeof paymentRoutes> {
  const { config, accounts, logger } = deps;

  /**
   * @returns whether there was something to credit
   * @throws ServiceError MISSING_PARAMS, NOT_FOUND, IDEMPOTENCY_CONFLICT
   */
  async function credit(session: CheckoutSession, livemode: boolean | undefined): Promise<boolean> {
    const mode = modeOf(session, livemode);
    const accountId = accountIdOf(session);
    const cents = creditedCents(session);
    if (cents <= 0) return ignore(session, 'only tax and shipping were paid');
    if ((await accounts.find(accountId)) === null) {
      throw new ServiceError('NOT_FOUND', 'There is no account with this id; nothing was credited.');
    }
    const payment = { paymentId: session.id, accountId, mode, amountMicros: cents * MICROS_PER_CENT };
    // Earlier versions credited tax and shipping, too.
    const formerAmountMicros = session.amount_total * MICROS_PER_CENT;
    const amountMicros = await creditPayment(deps, { ...payment, formerAmountMicros });
    report('payment', { outcome: 'credited' });
    logger.info({ ...payment, amountMicros }, 'payment credited');
    return true;
  }

  /** Records a paid session that credits nothing, so that the operator can credit it by hand if it was a top-up. */
  function ignore(session: Readonly<Record<string, unknown>>, reason: string): false {
    const { id, payment_link: link, client_reference_id: reference } = session;
    report('payment', { outcome: 'ignored' });
    const fields = { paymentId: logged(id), paymentLink: logged(link), clientReferenceId: logged(reference) };
    logger.warn({ ...fields, reason }, 'payment ignored');
    return false;
  }

  return {
    async receivePayment({ ctx }) {
      const secret = config.payments.webhookSecret;
      if (secret === undefined) throw noSuchEndpoint();
      requireHttps(ctx, config);
      const body = await deps.signedRequests.admit(ctx, (read) => readSigned(ctx, secret, read));
      const { fields } = parseJsonObject(utf8(body));
      const { type, livemode, data } = validated(PaymentEvent, fields);
      const object = data?.object ?? {};
      if (type !== 'checkout.session.completed' || object['payment_status'] !== 'paid') {
        return { received: true, credited: false };
      }
      // Sessions of other sales are not checked further: any response but 2xx would repeat them for days.
      if (!isTopUp(object, config.payments.linkIds)) {
        return { received: true, credited: ignore(object, 'its payment link is not in PAYMENT_LINK_IDS') };
      }
      const work = credit(validated(CheckoutSession, object), livemode ?? undefined);
      return { received: true, credited: await withDeadline(ctx.state.arrivedAt + RESPONSE_TIMEOUT_MS, work) };
    },
  };
}

/**
 * Reads the body and verifies the signature.
 * @throws ServiceError FORBIDDEN, SERVICE_UNAVAILABLE, or an error of reading the body
 */
async function readSigned(ctx: ApiContext, secret: string, read: ReadSigned): Promise<Buffer> {
  const header = ctx.get('Stripe-Signature');
  const forged = new ServiceError('FORBIDDEN', 'The signature of the payment provider is missing, invalid or too old.');
  // Do not read the body if the header cannot be valid.
  if (!mayBePaymentSignature(header, Date.now())) throw forged;
  const body = await read((signal) => readBody(ctx.req, { limit: MAX_EVENT_BYTES, decompress: false, signal }));
  if (!isPaymentSignature({ secret, header, body, now: Date.now() })) throw forged;
  return body;
}

/**
 * Returns the mode of the balance to credit. If the event and its metadata both name a mode, they must agree, so that
 * real money never becomes test money or the reverse.
 * @throws ServiceError MISSING_PARAMS
 */
function modeOf(session: CheckoutSession, livemode: boolean | undefined): Mode {
  const paid = livemode === undefined ? undefined : livemode ? 'live' : 'test';
  const wanted = session.metadata?.mode ?? undefined;
  const mode = wanted ?? paid;
  if (mode === undefined) throw new ServiceError('MISSING_PARAMS', 'Either livemode or metadata.mode is required.');
  if (paid !== undefined && paid !== mode) {
    throw new ServiceError('MISSING_PARAMS', `A ${paid} payment cannot be credited to the ${mode} balance.`);
  }
  return mode;
}

function accountIdOf(session: CheckoutSession): string {
  const ids = new Set(
    [session.client_reference_id, session.metadata?.account_id].filter((id) => typeof id === 'string'),
  );
  const [id] = ids;
  if (id === undefined) {
    throw new ServiceError('MISSING_PARAMS', 'client_reference_id or metadata.account_id is required.');
  }
  if (ids.size > 1) throw new ServiceError('MISSING_PARAMS', 'client_reference_id and metadata.account_id differ.');
  return id;
}

/** An id of a session that was not validated, for the log. */
function logged(id: unknown): string | undefined {
  return typeof id === 'string' ? id.slice(0, 128) : undefined;
}
