import { accountNotFound, noLiveAgent } from '../../kernel/common-errors.js';
import { ServiceError } from '../../kernel/errors.js';
import { invalidParam } from '../../kernel/invalid-request.js';
import { isE164 } from '../../kernel/phone-number.js';
import { LIVE_AGENTS } from '../agent-mode.js';
import type { AccountDocument } from '../../identity/accounts/model.js';
import { DEFAULT_ACCOUNT } from '../../platform/config/config.js';
import { isDuplicateKey } from '../../platform/mongo/connection.js';
import type { AgentsDatabase } from '../database.js';
import { ignoreWrites } from '../../platform/mongo/writes.js';
import type { PhoneNumberDocument } from './model.js';

export const NUMBER_TAKEN = 'phone_number already belongs to an account. Ask the operator of this service.';

export type PhoneNumbers = ReturnType<typeof createPhoneNumbers>;

/** Manages the phone numbers of accounts, which receive and place calls. Expected errors are ServiceErrors. */
export function createPhoneNumbers(database: AgentsDatabase) {
  const { phoneNumbers, credentials } = database;
  /** The numbers of accounts that are cached with their keys. A change of a number drops these accounts from the cache. */
  const ofCached = new WeakMap<AccountDocument, PhoneNumberDocument[]>();

  async function checkAgent(accountId: string, agentId: string): Promise<void> {
    if (await database.agents.exists({ _id: agentId, accountId, archivedAt: null, ...LIVE_AGENTS })) return;
    throw noLiveAgent(agentId);
  }

  return {
    /**
     * Assigns a number to an account. Assigning it to the same account again changes nothing.
     * @throws ServiceError CONFLICT if it has the number with another agent or carrier account than those that are given
     */
    async add(p: {
      number: string;
      accountId: string;
      agentId?: string;
      carrierAccount?: string;
    }): Promise<PhoneNumberDocument> {
      if (!isE164(p.number))
        throw invalidParam('phone_number', 'phone_number must be in E.164 format, like +12025550123.');
      if (!(await database.accounts.exists({ _id: p.accountId }))) {
        throw accountNotFound(p.accountId);
      }
      if (p.agentId !== undefined) await checkAgent(p.accountId, p.agentId);
      const { number: _id, accountId, agentId, carrierAccount } = p;
      const document = {
        _id,
        accountId,
        ...(agentId === undefined ? {} : { agentId }),
        ...(carrierAccount === undefined ? {} : { carrierAccount }),
        createdAt: new Date(),
      };
      try {
        await credentials.change(() => phoneNumbers.create([document]));
        return document;
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
      }
      const present = await this.find(p.number);
      if (present?.accountId !== p.accountId) throw invalidParam('phone_number', NUMBER_TAKEN);
      assertAsGiven(present, p);
      return present;
    },

    find: async (number: string): Promise<PhoneNumberDocument | null> =>
      isE164(number) ? phoneNumbers.findOne({ _id: number }).lean<PhoneNumberDocument>() : null,

    /** Lists numbers, oldest first. The first one is the default for agents without a number. */
    list(accountId: string): Promise<PhoneNumberDocument[]> {
      return phoneNumbers.find({ accountId }).sort({ createdAt: 1, _id: 1 }).lean<PhoneNumberDocument[]>().exec();
    },

    /**
     * Lists the numbers of the account of a request, as `list` does. An account that is cached with its key is read only
     * once, so the numbers may be a second old (docs/adr/0041-cached-credentials.md).
     */
    async listOfRequest(account: AccountDocument): Promise<readonly PhoneNumberDocument[]> {
      const known = ofCached.get(account);
      if (known !== undefined) return known;
      const numbers = await this.list(account._id);
      ofCached.set(account, numbers);
      return numbers;
    },

    /**
     * Removes a number from its account.
     * @throws ServiceError NOT_FOUND; CONFLICT while a live agent uses the number as its caller id. Test agents do not
     * matter, because test calls do not use the account's numbers.
     */
    async remove(accountId: string, number: string): Promise<PhoneNumberDocument> {
      const present = await this.find(number);
      if (present?.accountId !== accountId)
        throw new ServiceError('NOT_FOUND', 'This account has no such phone number.');
      if (await database.agents.exists({ accountId, phoneNumber: number, archivedAt: null, ...LIVE_AGENTS })) {
        throw new ServiceError(
          'CONFLICT',
          'An agent places calls from this number. Set another phone_number for the agent first.',
        );
      }
      await credentials.change(() => phoneNumbers.deleteOne({ _id: number, accountId }).exec());
      return present;
    },

    /**
     * Sets the carrier account that the number belongs to. Calls in progress are not affected.
     * @throws ServiceError NOT_FOUND
     */
    async setCarrierAccount(number: string, carrierAccount: string): Promise<PhoneNumberDocument> {
      const changed = await credentials.change(() =>
        phoneNumbers
          .findOneAndUpdate({ _id: number }, { $set: { carrierAccount } }, { returnDocument: 'after' })
          .lean<PhoneNumberDocument>()
          .exec(),
      );
      if (changed === null) throw new ServiceError('NOT_FOUND', 'No account owns this number.');
      return changed;
    },

    /**
     * Sets the live agent that answers this number instead of the account's inbound agent; null removes it.
     * @param onWrite called unless it is this agent already
     * @throws ServiceError NOT_FOUND, AGENT_NOT_FOUND
     */
    async setAgent(number: string, agentId: string | null, onWrite = ignoreWrites): Promise<PhoneNumberDocument> {
      const present = await this.find(number);
      if (!present) throw new ServiceError('NOT_FOUND', 'No account owns this number.');
      if (agentId !== null) await checkAgent(present.accountId, agentId);
      if ((present.agentId ?? null) === agentId) return present;
      const update = agentId === null ? { $unset: { agentId: '' } } : { $set: { agentId } };
      // The number may have been removed and added by another account meanwhile.
      const { matchedCount } = await phoneNumbers.updateOne({ _id: number, accountId: present.accountId }, update);
      if (matchedCount === 0) throw new ServiceError('NOT_FOUND', 'No account owns this number.');
      onWrite();
      return (await this.find(number)) ?? present;
    },
  };
}

/** @throws ServiceError CONFLICT */
function assertAsGiven(present: PhoneNumberDocument, given: { agentId?: string; carrierAccount?: string }): void {
  const { agentId, carrierAccount } = given;
  const isOtherAgent = agentId !== undefined && agentId !== present.agentId;
  const isOtherAccount = carrierAccount !== undefined && carrierAccount !== (present.carrierAccount ?? DEFAULT_ACCOUNT);
  if (!isOtherAgent && !isOtherAccount) return;
  throw new ServiceError(
    'CONFLICT',
    `The account has this number already, with another ${isOtherAccount ? 'carrier account' : 'agent'}. Nothing was changed: change the number instead of adding it again.`,
  );
}
