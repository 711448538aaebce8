import { createErasures } from '../../src/calls/erasure/create-erasures.js';
import { createNumberErasures } from '../../src/calls/erasure/erase-number.js';
import { createCallSearch } from '../../src/calls/search/call-search.js';
import { createPhoneNumbers } from '../../src/agents/numbers/phone-numbers.js';
import { createAuditLog } from '../../src/identity/access/audit-log.js';
import { createLedger } from '../../src/billing/ledger/ledger.js';
import { ledgerAccountId } from '../../src/kernel/ids.js';
import { startService, type Customer, type Service } from '../support/http/harness.js';
import { newCallId } from '../support/store/test-database.js';

const NUMBER = '+12025550179';
const LOCAL = '(202) 555-0179';

let service: Service;
let customer: Customer;
beforeAll(async () => {
  service = await startService({ worker: false });
  customer = await service.customer();
});
afterEach(async () => {
  const { calls, callRequests, auditEntries } = service.database;
  for (const model of [calls, callRequests, auditEntries]) await model.collection.deleteMany({});
});
afterAll(() => service.close());

type Gateway = Parameters<typeof createErasures>[0]['gateway'];
type Numbers = ReturnType<typeof createErasures>['numbers'];

function withNumbers<T>(
  use: (numbers: Numbers) => Promise<T>,
  { gateway = service.gateway, config = service.config }: { gateway?: Gateway; config?: Service['config'] } = {},
) {
  const { database } = service;
  return service.withClient((client) => use(createErasures({ config, database, gateway, client }).numbers));
}
const erase = (options?: { isUnsureMeant: boolean }) => withNumbers((numbers) => numbers.erase(NUMBER, options));

/** Stores a call that has ended long ago. */
async function storeCall(fields: object): Promise<string> {
  const callId = newCallId();
  const call = {
    accountId: customer.account._id,
    mode: 'test',
    sequence: 1,
    status: 'COMPLETED',
    updatedAt: new Date(0),
  };
  const parties = { fromPhoneNumber: '+12025550106', toPhoneNumber: '+493012345678' };
  await service.database.calls.collection.insertOne({ _id: callId as never, ...call, ...parties, ...fields });
  return callId;
}
const storedText = async (callId: string) => (await service.database.calls.findById(callId).lean())?.transcription;

describe('a number without its country code', () => {
  it('is erased from the texts of calls with its country, and not from others', async () => {
    const transcription = `caller: It is ${LOCAL}.`;
    const [home, abroad] = [
      await storeCall({ transcription, inputParameters: '{"phone":2025550179,"text":"2025550179"}' }),
      await storeCall({ transcription, fromPhoneNumber: '+4915112345678' }),
    ];
    expect(await withNumbers((numbers) => numbers.find(NUMBER))).toMatchObject({ calls: [], mentions: [home] });
    expect(await erase()).toMatchObject({ mentions: [home], unsure: [], isComplete: true });
    expect(await service.database.calls.findById(home).lean()).toMatchObject({
      transcription: 'caller: It is erased-number.',
      inputParameters: '{"phone":"erased-number","text":"erased-number"}',
    });
    expect(await storedText(abroad)).toBe(transcription);
  });

  it('is reported where it may be something else, and erased if the operator means it', async () => {
    const transcription = 'caller: At 202-555-0179-12.';
    const callId = await storeCall({ transcription });
    expect(await erase()).toMatchObject({ mentions: [], unsure: [callId] });
    expect(await storedText(callId)).toBe(transcription);
    expect(await erase({ isUnsureMeant: true })).toMatchObject({ mentions: [callId], unsure: [], isComplete: true });
    expect(await storedText(callId)).toBe('caller: At erased-number-12.');
  });
});

describe('a number without its country code in a call without a country, such as one in the browser', () => {
  it('is reported, and erased if the operator means it', async () => {
    const transcription = `caller: It is ${LOCAL}.`;
    const callId = await storeCall({ transcription, fromPhoneNumber: 'web:Ann', toPhoneNumber: 'web' });
    expect(await erase()).toMatchObject({ mentions: [], unsure: [callId], isComplete: true });
    expect(await storedText(callId)).toBe(transcription);
    expect(await erase({ isUnsureMeant: true })).toMatchObject({ mentions: [callId], unsure: [], isComplete: true });
    expect(await storedText(callId)).toBe('caller: It is erased-number.');
  });
});

describe('a caller that the carrier reports in another form', () => {
  it.each(['2025550179', LOCAL, 'sip:+12025550179@198.51.100.7', 'SIP:2025550179@example.com;user=phone'])(
    'is a party, so that the whole call is erased: %s',
    async (fromPhoneNumber) => {
      const parties = { fromPhoneNumber, toPhoneNumber: '+12025550106' };
      const callId = await storeCall({ ...parties, transcription: 'caller: My name is Ann, at +12025550179.' });
      expect(await erase()).toMatchObject({ calls: [callId], mentions: [], unsure: [], isComplete: true });
      const call = await service.database.calls.findById(callId).lean();
      expect(call?.erasedAt).toBeInstanceOf(Date);
      expect(call?.transcription).toBeUndefined();
    },
  );

  it.each([`${NUMBER}55`, `sip:${NUMBER}55@carrier.example.com`])(
    'is the same with surplus digits, which networks ignore: %s',
    async (toPhoneNumber) => {
      const surplus = await storeCall({ toPhoneNumber, transcription: 'callee: My name is Ann.' });
      await storeCall({ toPhoneNumber: '+12025550178' });
      expect(await erase()).toMatchObject({ calls: [surplus], mentions: [], unsure: [], isComplete: true });
    },
  );

  it('is another person in a call of other countries', async () => {
    const parties = { fromPhoneNumber: '2025550179', toPhoneNumber: '+493012345678' };
    await storeCall({ ...parties, transcription: 'caller: My name is Ann.' });
    expect(await erase()).toMatchObject({ calls: [], mentions: [], unsure: [], isComplete: true });
  });
});

describe('an erasure of a number', () => {
  const recent = () => storeCall({ toPhoneNumber: NUMBER, updatedAt: new Date() });

  it('finds calls that are stored while it runs', async () => {
    const first = await recent();
    const late: string[] = [];
    const gateway: Gateway = {
      async erase() {
        if (late.length === 0) late.push(await storeCall({ transcription: `agent: ${NUMBER}?` }));
      },
    };
    const found = await withNumbers((numbers) => numbers.erase(NUMBER), { gateway });
    expect(found).toMatchObject({ calls: [first], mentions: late, isComplete: true });
    expect(await storedText(late[0] ?? '')).toBe('agent: erased-number?');
  });

  it('removes the number from an account also in processes that have cached it', async () => {
    const { database } = service;
    const numbers = createPhoneNumbers(database);
    const epoch = () => database.credentialEpochs.findOne({}).lean();
    await numbers.add({ number: NUMBER, accountId: customer.account._id });
    const before = await epoch();
    expect(await erase()).toMatchObject({ others: { phone_numbers: 1 }, isComplete: true });
    expect(await numbers.find(NUMBER)).toBeNull();
    expect(await epoch()).not.toEqual(before);
  });

  it('says that it is not complete if such calls never end', async () => {
    await recent();
    const gateway: Gateway = { erase: async () => void (await recent()) };
    expect(await withNumbers((numbers) => numbers.erase(NUMBER), { gateway })).toMatchObject({ isComplete: false });
  });

  it('finds what an erasure under a former pepper has left', async () => {
    const callId = await storeCall({ toPhoneNumber: NUMBER });
    await erase();
    const { database, config } = service;
    const looked: string[] = [];
    const rotated = createNumberErasures({
      database,
      pepper: 'a new pepper',
      formerPeppers: [config.apiKeyPepper],
      removal: {
        erase: () => Promise.resolve(),
        removeWorkflows: async (callIds) => {
          looked.push(...callIds);
          return { deleted: 0, left: 0 };
        },
      },
      search: createCallSearch(database),
      attempts: { forget: () => Promise.resolve() } as never,
      auditLog: createAuditLog(database),
    });
    await rotated.erase(NUMBER);
    expect(looked).toEqual([callId]);
  });

  it('erases a billed call whose read model is lost, and leaves one that may still begin', async () => {
    const [billed, unstarted] = [newCallId(), newCallId()];
    const account = ledgerAccountId(customer.account._id, 'live');
    const ledger = createLedger(service.database);
    await ledger.hold({
      ledgerAccountId: account,
      callId: billed,
      window: 0,
      maxDurationSeconds: 60,
      microsPerSecond: 2_500,
    });
    await ledger.settle({ ledgerAccountId: account, callId: billed, billedSeconds: 30 });
    await ledger.sweep(account);
    for (const _id of [billed, unstarted]) {
      const request = { accountId: customer.account._id, mode: 'live', toPhoneNumber: NUMBER, createdAt: new Date() };
      await service.database.callRequests.collection.insertOne({ _id: _id as never, ...request });
    }
    expect(await erase()).toMatchObject({ calls: [billed], inProgress: [unstarted] });
    expect(await service.database.callRequests.findById(billed).lean()).toMatchObject({ toPhoneNumber: '' });
  });
});
