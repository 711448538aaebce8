import type { Config } from '../../platform/config/config.js';
import type { PhoneNumber } from '../../identity/accounts/schemas.js';
import type { numberRoutes } from './contract.js';
import { ServiceError } from '../../kernel/errors.js';
import type { PhoneNumberDocument } from './model.js';
import { NUMBER_TAKEN, type PhoneNumbers } from './phone-numbers.js';
import type { ApiContext } from '../../platform/http/context.js';
import type { Accounts } from '../../identity/accounts/accounts.js';
import type { Principal, RouteHandlers } from '../../identity/access/principal.js';
import { deadlineOf, withDeadline } from '../../platform/http/deadline.js';
import { respond } from '../../platform/http/routing/response.js';
import { wholeList } from '../../platform/http/lists.js';
import { createWrites } from '../../platform/mongo/writes.js';

export interface PhoneNumberHandlersDeps {
  config: Config;
  accounts: Accounts;
  phoneNumbers: PhoneNumbers;
}

/**
 * Creates the handlers for the phone numbers of the requesting account. Numbers of other accounts respond as not found.
 */
export function createPhoneNumberHandlers(deps: PhoneNumberHandlersDeps): RouteHandlers<typeof numberRoutes> {
  const { config, accounts, phoneNumbers } = deps;

  /** @throws ServiceError NOT_FOUND */
  async function find(ctx: ApiContext, { account }: Principal, number: string): Promise<PhoneNumberDocument> {
    const found = await withDeadline(deadlineOf(ctx), phoneNumbers.find(number));
    if (found?.accountId !== account._id) throw new ServiceError('NOT_FOUND', 'This account has no such phone number.');
    return found;
  }

  /**
   * Rejects the request unless customers may manage numbers themselves. The account that has a number receives the
   * calls forwarded from it, so in production customers must not claim numbers.
   * @throws ServiceError FORBIDDEN
   */
  function assertSelfServiceEnabled(): void {
    if (config.selfServiceNumbers) return;
    throw new ServiceError('FORBIDDEN', 'Only operators of this service can add or remove phone numbers.');
  }

  async function view(ctx: ApiContext, { account }: Principal, number: PhoneNumberDocument): Promise<PhoneNumber> {
    return numberView(number, await withDeadline(deadlineOf(ctx), accounts.current(account)));
  }

  return {
    async listPhoneNumbers({ ctx, principal: { account } }) {
      const both = Promise.all([phoneNumbers.list(account._id), accounts.current(account)]);
      const [numbers, current] = await withDeadline(deadlineOf(ctx), both);
      return wholeList(numbers.map((number) => numberView(number, current)));
    },

    async addPhoneNumber({ ctx, principal, readBody }) {
      assertSelfServiceEnabled();
      const { account } = principal;
      const { phone_number: number, agent_id: agentId } = await readBody();
      const asked = { number, accountId: account._id, ...(agentId === undefined ? {} : { agentId }) };
      const present = await withDeadline(deadlineOf(ctx), phoneNumbers.find(number));
      if (present) throw new ServiceError('CONFLICT', NUMBER_TAKEN);
      const added = await withDeadline(deadlineOf(ctx), phoneNumbers.add(asked));
      return respond(await view(ctx, principal, added), { target: number });
    },

    async readPhoneNumber({ ctx, principal, params: { phone_number: number } }) {
      return view(ctx, principal, await find(ctx, principal, number));
    },

    async updatePhoneNumber({ ctx, principal, params: { phone_number: number }, body: { agent_id: agentId = null } }) {
      await find(ctx, principal, number);
      const writes = createWrites();
      const changed = await withDeadline(deadlineOf(ctx), phoneNumbers.setAgent(number, agentId, writes.add));
      return respond(await view(ctx, principal, changed), { unchanged: writes.isNone() });
    },

    async removePhoneNumber({ ctx, principal, params: { phone_number: number } }) {
      assertSelfServiceEnabled();
      const removed = await withDeadline(deadlineOf(ctx), phoneNumbers.remove(principal.account._id, number));
      return view(ctx, principal, removed);
    },
  };
}

function numberView(number: PhoneNumberDocument, { inboundAgentId }: Principal['account']): PhoneNumber {
  const active = number.agentId ?? inboundAgentId;
  return {
    phone_number: number._id,
    ...(number.agentId === undefined ? {} : { agent_id: number.agentId }),
    ...(active === undefined ? {} : { active_agent_id: active }),
    created_at: number.createdAt.toISOString(),
  };
}
