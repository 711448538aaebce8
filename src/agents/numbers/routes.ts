import type { Config } from '../../platform/config/config.js';
import { NewPhoneNumberBody, PhoneNumberChangesBody, type PhoneNumber } from '../../identity/accounts/schemas.js';
import { ServiceError } from '../../kernel/errors.js';
import type { PhoneNumberDocument } from './model.js';
import type { PhoneNumbers } from './phone-numbers.js';
import type { ApiContext } from '../../platform/http/context.js';
import type { Principal } from '../../identity/access/principal.js';
import { deadlineOf, within } from '../../platform/http/deadline.js';
import { bodyOf } from '../../platform/http/input.js';
import { wholeList } from '../../platform/http/lists.js';

export interface PhoneNumberRoutesDeps {
  config: Config;
  phoneNumbers: PhoneNumbers;
}

/** Numbers of the account that asks; another account's are not found. */
export function createPhoneNumberRoutes({ config, phoneNumbers }: PhoneNumberRoutesDeps) {
  /** @throws ServiceError NOT_FOUND */
  async function find(ctx: ApiContext, { account }: Principal, number: string): Promise<PhoneNumberDocument> {
    const found = await within(deadlineOf(ctx), phoneNumbers.find(number));
    if (found?.accountId !== account._id) throw new ServiceError('NOT_FOUND', 'The account has no such number.');
    return found;
  }

  /** Whoever holds a number gets the calls forwarded from it, so nobody may simply take one where calls are real. */
  function refuseSelfService(): void {
    if (config.selfServiceNumbers) return;
    throw new ServiceError('FORBIDDEN', 'Numbers are given by the operators of this service.');
  }

  return {
    async list(ctx: ApiContext, { account }: Principal): Promise<void> {
      const numbers = await within(deadlineOf(ctx), phoneNumbers.list(account._id));
      ctx.body = wholeList(numbers.map((number) => numberView(number, account)));
    },

    async add(ctx: ApiContext, principal: Principal): Promise<void> {
      refuseSelfService();
      const { account } = principal;
      const { phone_number: number, agent_id: agentId } = await bodyOf(NewPhoneNumberBody, ctx);
      const asked = { number, accountId: account._id, ...(agentId === undefined ? {} : { agentId }) };
      const present = await within(deadlineOf(ctx), phoneNumbers.find(number));
      if (present) throw new ServiceError('CONFLICT', 'This number belongs to an account already.');
      ctx.state.target = number;
      ctx.body = numberView(await within(deadlineOf(ctx), phoneNumbers.add(asked)), account);
    },

    async read(ctx: ApiContext, principal: Principal, number: string): Promise<void> {
      ctx.body = numberView(await find(ctx, principal, number), principal.account);
    },

    async update(ctx: ApiContext, principal: Principal, number: string): Promise<void> {
      const { agent_id: agentId = null } = await bodyOf(PhoneNumberChangesBody, ctx);
      await find(ctx, principal, number);
      const changed = await within(deadlineOf(ctx), phoneNumbers.setAgent(number, agentId));
      ctx.body = numberView(changed, principal.account);
    },

    async remove(ctx: ApiContext, principal: Principal, number: string): Promise<void> {
      refuseSelfService();
      const { account } = principal;
      ctx.body = numberView(await within(deadlineOf(ctx), phoneNumbers.remove(account._id, number)), account);
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
