import { randomUUID } from 'node:crypto';
import { createMembers } from '../../src/identity/people/members.js';
import type { UserDocument } from '../../src/identity/people/model.js';
import { startService, type Service } from '../support/http/harness.js';
import { createBrowser, resetRateLimits, PASSWORD, type Browser } from '../support/http/portal-support.js';
import { startMailServer } from '../support/mail-server.js';

let mail: Awaited<ReturnType<typeof startMailServer>>;
let service: Service;
// A mail server that never responds, so that every e-mail stays in progress.
beforeAll(async () => (mail = await startMailServer({ silent: true })));
afterAll(() => mail.close());
beforeEach(async () => {
  service = await startService({ worker: false, env: { ...mail.env, TRUST_PROXY: 'true' } });
});
afterEach(() => service.close());

async function verifiedOwner(): Promise<{ browser: Browser; user: UserDocument }> {
  await resetRateLimits(service);
  const browser = createBrowser(service);
  const email = await browser.signUp();
  const user = (await service.database.unverifiedUsers.findOne({ email }).lean<UserDocument>())!;
  await createMembers(service.database).verify(user);
  await resetRateLimits(service);
  return { browser, user };
}

async function knownAddresses(count: number): Promise<string[]> {
  const { user } = await verifiedOwner();
  const emails = Array.from({ length: count }, () => `${randomUUID()}@example.com`);
  const users = emails.map((email) => ({ ...user, _id: `user_${randomUUID()}`, email, unverified: undefined }));
  await service.database.users.collection.insertMany(users as never[]);
  return emails;
}
const unknownAddress = () => `${randomUUID()}@example.net`;

let lastNetwork = 0;
const newClient = () => `10.${Math.floor(++lastNetwork / 250)}.${lastNetwork % 250}.7`;
const post = async (path: string, body: object, from = newClient()) =>
  (await createBrowser(service).send('POST', path, body, { 'X-Forwarded-For': from })).status;
const reset = (email: string, from?: string) => post('/portal/forgot-password', { email }, from);
const invite = async (owner: Browser, email = unknownAddress()) =>
  (await owner.post('/portal/invitations', { email, role: 'viewer' })).status;
/** Prolongs the ten seconds of the limits that have begun, because a busy machine takes longer for the test's requests. */
const prolongLimits = () =>
  service.database.rateLimits.updateMany(
    { key: /^mail-requests:/ },
    { $set: { expire: new Date(Date.now() + 600_000) } },
  );
const tally = (statuses: number[]) =>
  [200, 429].map((status) => statuses.filter((each) => each === status).length).concat(statuses.length);

/** Invitations that an account sends at once. With the one before, they are more than are accepted in ten seconds. */
const AT_ONCE = 25;

it('five accounts that send all their invitations at once stop no e-mails of others', async () => {
  const owners: Browser[] = [];
  for (let count = 0; count < 6; count++) owners.push((await verifiedOwner()).browser);
  const [other, ...flooding] = owners;
  // The limiter may count a request twice while it creates the counter, so one request comes first.
  for (const owner of flooding) expect(await invite(owner)).toBe(200);
  await prolongLimits();
  const floods = await Promise.all(
    flooding.map((owner) => Promise.all(Array.from({ length: AT_ONCE }, () => invite(owner)))),
  );
  const person = { email: unknownAddress(), password: PASSWORD, name: 'Ada', account_name: 'Acme' };
  expect([await reset(unknownAddress()), await post('/portal/sign-up', person), await invite(other!)]).toEqual([
    200, 200, 200,
  ]);
  for (const flood of floods) {
    // On a busy machine some requests get 503. They may have been counted.
    const [accepted = 0, rejected = 0] = tally(flood);
    const late = flood.filter((status) => status === 503).length;
    expect(accepted + rejected + late).toBe(AT_ONCE);
    expect(accepted).toBeLessThanOrEqual(19);
    expect(accepted + late).toBeGreaterThanOrEqual(19);
  }
}, 60_000);

it('a rejection does not reveal which addresses have an account, however many e-mails are in progress', async () => {
  const known = await knownAddresses(235);
  // 200 e-mails in progress were once the limit of all senders together.
  for (let batch = 0; batch < 6; batch++) {
    const statuses = await Promise.all(known.splice(0, 33).map((email) => reset(email)));
    expect(new Set(statuses)).toEqual(new Set([200]));
  }
  const pause = () => new Promise((resolve) => setTimeout(resolve, 300));
  for (const email of [1, 2, 3].flatMap(() => [unknownAddress(), known.pop()!])) {
    await reset(email);
    await pause();
    expect(await reset(unknownAddress())).toBe(200);
  }
  const ofNetwork = async (emails: string[]) => {
    const from = newClient();
    const statuses: number[] = [];
    for (const email of emails) {
      statuses.push(await reset(email, from.replace(/7$/, String(statuses.length + 1))));
      if (statuses.length === 1) await prolongLimits();
    }
    return tally(statuses);
  };
  expect(await ofNetwork(known.splice(0, 25))).toEqual([20, 5, 25]);
  expect(await ofNetwork(Array.from({ length: 25 }, unknownAddress))).toEqual([20, 5, 25]);
}, 60_000);

it('an invitation that is rejected because of the account’s other ones does not use up the limits of a day', async () => {
  const { browser } = await verifiedOwner();
  for (let count = 0; count < 20; count++) {
    expect(await invite(browser)).toBe(200);
    if (count === 0) await prolongLimits();
  }
  const colleague = unknownAddress();
  for (let count = 0; count < 4; count++) expect(await invite(browser, colleague)).toBe(429);
  // As after ten seconds.
  await service.database.rateLimits.deleteMany({ key: /^mail-requests:account:/ });
  for (let count = 0; count < 3; count++) expect(await invite(browser, colleague)).toBe(200);
});

it('password resets are limited by network, whether or not the addresses have an account', async () => {
  const [known] = await knownAddresses(1);
  expect(await reset(known!, '2001:db8:77:1::1')).toBe(200);
  await service.database.rateLimits.updateMany({ key: /^mail-requests:resets:2001:/ }, { $set: { points: 400 } });
  expect(await reset(known!, '2001:db8:77:2::1')).toBe(429);
  expect(await reset(unknownAddress(), '2001:db8:77:3::1')).toBe(429);
  expect(await reset(known!, '2001:db8:78::1')).toBe(200);
});

it('rejected requests of one client stop no password resets and sign-ups of the clients next to it', async () => {
  const signUp = (from: string) =>
    post('/portal/sign-up', { email: unknownAddress(), password: PASSWORD, name: 'Ada', account_name: 'Acme' }, from);
  for (const [client, neighbor] of [
    ['203.0.113.9', '203.0.113.200'],
    ['2001:db8:99:1::1', '2001:db8:99:2::1'],
  ] as const) {
    const floods = [reset, (_: string, from: string) => signUp(from)].map(async (send) => {
      const statuses: number[] = [];
      for (let count = 0; count < 50; count++) statuses.push(await send(unknownAddress(), client));
      return tally(statuses);
    });
    for (const [accepted, ...rest] of await Promise.all(floods)) expect(rest).toEqual([50 - accepted!, 50]);
    expect([await reset(unknownAddress(), neighbor), await signUp(neighbor)]).toEqual([200, 200]);
    // As after the 15 minutes and the hour of the client's own limits, and after ten seconds.
    await service.database.rateLimits.deleteMany({ key: /^(links|opening|mail-requests:(client|network)):/ });
    await service.database.rateLimits.updateMany({ key: /^mail-requests:resets:/ }, { $inc: { points: 80 } });
    expect(await reset(unknownAddress(), neighbor)).toBe(200);
  }
}, 60_000);
