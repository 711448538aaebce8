import { randomBytes } from 'node:crypto';
import type { AgentDocument } from '../../../src/agents/model.js';
import { encodeCrockford } from '../../../src/kernel/ids.js';
import { eventually } from '../http/harness';
import type { SignedRequest } from './double';
import type { Given } from './given';

export const newCallId = () => `call_${encodeCrockford(randomBytes(16))}`;

/** Functions by which the tests of a carrier start calls. */
export function callsOf(of: Given) {
  /**
   * Places a call of a new agent with these fields. Returns the call's id.
   * @param by the account and its key; by default those of the customer
   */
  async function place(
    to: string,
    fields: Partial<AgentDocument> = {},
    by?: { accountId: string; key: string },
  ): Promise<string> {
    const { stack, customer, key: ownKey } = of.given();
    const { accountId, key } = by ?? { accountId: customer.account._id, key: ownKey };
    const agentId = await stack.newAgent(accountId, fields);
    const body = { to_phone_number: to, agent_id: agentId };
    const answer = await stack.inTurn(() => stack.service.place(key, body));
    if (answer.status !== 200) throw new Error(`The call was rejected: ${answer.text}`);
    return String(answer.json['call_id']);
  }

  return {
    place,

    /** Places a call, and resolves when its engine can speak. */
    async placeToAgent(to: string, fields: Partial<AgentDocument> = {}) {
      return of.given().stack.conversationOf(await place(to, fields));
    },

    /** Makes a call arrive for an agent of the customer, and resolves when its engine can speak. */
    async receive() {
      const { stack, double, ownNumber: forwardedFrom } = of.given();
      return stack.inTurn(async () => {
        const carrierSid = await double.receive({ from: '+12025550143', to: '+12025550199', forwardedFrom });
        const binding = await eventually(() => stack.service.database.carrierBindings.findOne({ carrierSid }).lean());
        return stack.conversationOf(binding._id);
      });
    },

    /** Sends a request of the carrier to the API. */
    send: ({ path, headers, body }: SignedRequest) =>
      of.given().stack.service.request(path, { method: 'POST', headers, body }),
  };
}
