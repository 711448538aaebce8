import type { Config } from '../../platform/config/config.js';
import type { ApiContext } from '../../platform/http/context.js';
import { networksOf } from '../../platform/egress/client-address.js';
import { countAgainst, createLimiter } from '../../platform/http/rate-limits/rate-limit.js';
import { clientAddress } from '../../platform/http/security.js';
import type { IdentityDatabase } from '../database.js';

/**
 * Requests for e-mails of one sender that are accepted within ten seconds, which is about what a mail server takes from
 * us in this time. An accepted request counts for a fixed time and not until its e-mail is sent: otherwise a sender
 * could learn from a rejection that an e-mail was sent, and so that its addressee has an account.
 */
const OF_SENDER = { points: 20, duration: 10 };
/** As `OF_SENDER` but of one client, whose network keeps the other half. */
const OF_CLIENT = { points: 10, duration: 10 };
/**
 * Password resets of a network, whether or not the addresses are known: five times as many as the limit of links gives a
 * client, so that one client cannot use them up.
 */
const RESETS_OF_NETWORK = { points: 400, duration: 3_600 };

/** Counts a request for a limit of its client. @throws ServiceError RATE_LIMIT_EXCEEDED */
type CountOwn = () => Promise<void>;

export type MailRequestLimits = ReturnType<typeof createMailRequestLimits>;

/**
 * Limits the requests that cause e-mails, per sender: an account, or the /24 of an IPv4 address or the /48 of an IPv6
 * address. So a request is never rejected because of the e-mails of others. A client's own limits come before those of
 * its network, so that its rejected requests do not use up the network's. Count a request before anything is stored.
 */
export function createMailRequestLimits({ config, database }: { config: Config; database: IdentityDatabase }) {
  const ofSender = createLimiter(database, OF_SENDER);
  const ofClient = createLimiter(database, OF_CLIENT);
  const resets = createLimiter(database, RESETS_OF_NETWORK);

  function networkOf(ctx: ApiContext): string {
    const client = clientAddress(ctx, config);
    const [, network = client] = networksOf(client);
    return network;
  }

  async function countOfClient(ctx: ApiContext, countOwn: CountOwn): Promise<void> {
    await countAgainst(ctx, ofClient, `mail-requests:client:${clientAddress(ctx, config)}`);
    await countOwn();
    await countAgainst(ctx, ofSender, `mail-requests:network:${networkOf(ctx)}`);
  }

  return {
    /**
     * Counts a request for the client, then for its network.
     * @param countOwn counts the request for a longer limit of the client
     * @throws ServiceError RATE_LIMIT_EXCEEDED
     */
    countOfClient,

    /** Counts a request for a password reset like `countOfClient`. @throws ServiceError RATE_LIMIT_EXCEEDED */
    async countReset(ctx: ApiContext, countOwn: CountOwn): Promise<void> {
      await countOfClient(ctx, countOwn);
      await countAgainst(ctx, resets, `mail-requests:resets:${networkOf(ctx)}`);
    },

    /** Counts an invitation for the sender's account. @throws ServiceError RATE_LIMIT_EXCEEDED */
    async countInvitation(ctx: ApiContext, accountId: string): Promise<void> {
      await countAgainst(ctx, ofSender, `mail-requests:account:${accountId}`);
    },
  };
}
