import type { Browser, Page } from 'playwright-core';
import { openDatabase, type Database } from '../../src/database.js';
import type { Runtime } from '../../src/dev/runtime-file.js';
import type { Delivery } from '../../src/dev/webhook-inbox.js';
import { LINE_BROKE } from '../../src/voice/engines/offline/phrases.js';
import { measureLoudspeaker, quiet, replaceMicrophone, sayInto } from '../support/browser-audio.js';
import { mediaProcessOf, waitFor } from '../support/carried-call.js';
import { launch, type Launched } from '../support/dev-stack.js';
import {
  ADA,
  BROWSER,
  expectAccessiblePage,
  launchBrowser,
  newContext,
  newPage,
  sendForm,
  signUp,
} from '../support/portal-page.js';

jest.setTimeout(300_000);

/** The output parameters, as the demo agent's. */
const FIELDS = [
  ['appointment_confirmed', 'yes-no'],
  ['confirmation_code', 'text'],
  ['preferred_time', 'choices', 'morning|afternoon|evening'],
] as const;

/** The questions of the offline engine, and the answers of the simulated person of scenario 11. */
const TALK = [
  ['appointment confirmed', 'Yes.'],
  ['confirmation code', 'Four one five two.'],
  ['Is that right', 'Yes, that is right.'],
  ['preferred time', 'Afternoon.'],
] as const;

(BROWSER === undefined ? describe.skip : describe)('a talk in the browser', () => {
  let stack: Launched;
  let runtime: Runtime;
  let database: Database;
  let browser: Browser;
  let agentUrl = '';
  const faults: string[] = [];

  beforeAll(async () => {
    stack = await launch({ env: { LOG_LEVEL: 'info' } });
    runtime = await stack.runtime();
    database = await openDatabase(runtime.mongodb_uri);
    browser = await launchBrowser(['--use-fake-device-for-media-stream']);
  });
  afterAll(async () => {
    await browser?.close();
    await database?.close();
    await stack?.destroy();
  });
  afterEach(() => expect(faults).toEqual([]));

  const open = async (permissions: string[]) => newPage(await newContext(browser, { permissions }), faults, 60_000);

  const playedAt = (page: Page) => page.evaluate<number>(`document.querySelector('audio').currentTime`);

  /** Whether the newest words are in view, in their list and in the window. */
  const isNewestSeen = (page: Page) =>
    page.evaluate<boolean>(`(() => {
      const list = document.querySelector('.talk').getBoundingClientRect();
      const { top, bottom } = document.querySelector('.talk').lastElementChild.getBoundingClientRect();
      return top >= list.top && bottom <= list.bottom + 2 && bottom <= innerHeight;
    })()`);

  /** At which side of the list the words of each party are. */
  const sidesOf = (page: Page) =>
    page.evaluate(`(() => {
      const list = document.querySelector('.talk').getBoundingClientRect();
      const sideOf = (party) => {
        const { left, right } = document.querySelector('.talk .' + party).getBoundingClientRect();
        return left - list.left < list.right - right ? 'left' : 'right';
      };
      return { agent: sideOf('agent'), caller: sideOf('caller') };
    })()`);

  /** Opens the page of the call that is shown, which is in a new tab. */
  async function viewCall(page: Page): Promise<Page> {
    const [opened] = await Promise.all([page.waitForEvent('popup'), page.click('a:has-text("View call")')]);
    opened.setDefaultTimeout(60_000);
    return opened;
  }

  const latestCall = () => database.calls.findOne({ toPhoneNumber: 'web' }).sort({ createdAt: -1 }).lean();

  async function endedCall(callId: string) {
    return waitFor('the webhook', async () => {
      const deliveries = (await (await fetch(runtime.webhook_inbox_url)).json()) as Delivery[];
      const own = deliveries.filter(({ body }) => (body as { call_id?: unknown }).call_id === callId);
      return own.length === 0 ? undefined : own;
    });
  }

  it('is heard, answered and finished, although an operator kills its media process', async () => {
    const page = await open(['microphone']);
    await replaceMicrophone(page.context());
    await measureLoudspeaker(page.context());
    await signUp(page, runtime.portal_url);
    await page.goto(`${runtime.portal_url}/test/agents/new`);
    await page.fill('[name=name]', 'Front desk');
    await page.fill('[name=instruction]', 'Hello from Acme. Ask whether the appointment suits.');
    await page.fill('[name=webhook_url]', runtime.webhook_inbox_url);
    for (const [index, [name, kind, choices]] of FIELDS.entries()) {
      await page.click('text=Add field');
      await page.fill(`[aria-label="Name of field ${index + 1}"]`, name);
      await page.selectOption(`[aria-label="Type of field ${index + 1}"]`, kind);
      if (choices !== undefined) await page.fill(`[aria-label="Choices of field ${index + 1}"]`, choices);
    }
    await page.click('button:has-text("Create agent")');
    await page.waitForURL(/agents\/agent_/);
    agentUrl = page.url();
    await database.users.updateMany({ email: ADA.email }, { $set: { operator: true } });
    await database.unverifiedUsers.updateMany({ email: ADA.email }, { $set: { operator: true } });
    await page.reload();
    await page.fill('[name=instruction]', 'Hello from the change. Ask whether the appointment suits.');
    await page.waitForSelector('.save-bar:has-text("Unsaved changes")');
    await page.click('button:has-text("Start talking")');
    await page.waitForSelector('[role=status]:has-text("Connected.")');
    // The list has said words as buttons. A process that is killed before the greeting is said makes the next one greet.
    await page.waitForSelector('.talk button.agent:has-text("Hello from the change")');
    const { _id: callId } = await waitFor('the call', latestCall);
    await expectAccessiblePage(page, 'talk');

    const victim = await mediaProcessOf(stack, callId);
    const { media } = (await stack.runtime()).pids;
    await page.click('button:has-text("Kill the media process")');
    const { pids } = await stack.runtime((now) => !now.pids.media.includes(victim));
    expect(pids.media).toEqual(expect.arrayContaining(media.filter((pid) => pid !== victim)));
    expect(await database.auditEntries.countDocuments({ action: 'killMediaProcess', target: callId })).toBe(1);
    await page.waitForSelector('[role=status]:has-text("The connection was lost")');
    await page.waitForSelector('[role=status]:has-text("Connected.")');
    await page.waitForSelector(`.talk .agent:has-text("${LINE_BROKE.slice(0, 20)}")`);
    for (const [question, answer] of TALK) {
      await page.locator('.talk .agent').last().filter({ hasText: question }).waitFor();
      await quiet(page);
      await sayInto(page, answer);
    }
    await page.waitForSelector('[role=status]:has-text("The call has ended.")', { timeout: 120_000 });
    expect(await page.locator('.talk button').count()).toBeGreaterThan(7);
    await waitFor('the newest words in view', async () => ((await isNewestSeen(page)) ? true : undefined));

    const deliveries = await endedCall(callId);
    expect(deliveries).toHaveLength(1);
    expect(deliveries[0]?.body).toMatchObject({
      status: 'COMPLETED',
      call_direction: 'inbound',
      from_phone_number: 'web:Ada',
      to_phone_number: 'web',
    });
    const result = await database.conversationResults.findById(callId).lean();
    expect(JSON.parse(result?.outputParameters ?? '')).toEqual({
      appointment_confirmed: true,
      confirmation_code: '4152',
      preferred_time: 'afternoon',
    });
    await page.waitForSelector('section[aria-label="Extracted data"]:has-text("4152")');
    await page.click('button:has-text("Discard")');
    await page.click('dialog[open] button:has-text("Discard changes")');
    expect(await page.inputValue('[name=instruction]')).toContain('Hello from Acme');
    expect(await page.isVisible('text=Unsaved changes')).toBe(false);
    expect((await database.agents.findOne({ name: 'Front desk' }).lean())?.instruction).toContain('Hello from Acme');
    const callPage = await viewCall(page);
    await callPage.waitForSelector('[role=slider]');
    await callPage.locator('.talk .caller').last().click();
    await waitFor('the recording at the last answer', async () => ((await playedAt(callPage)) > 10 ? true : undefined));
    await callPage.waitForSelector('section[aria-label=Webhook] :text("delivered")');
    await page.goto(agentUrl);
    await page.click('button:has-text("Duplicate")');
    await page.waitForSelector('h1:has-text("Front desk (copy)")');
    await page.context().close();
  });

  it('tries a draft and an agent by typing without a microphone, and ends when the page is closed', async () => {
    const page = await open([]);
    await page.goto(`${runtime.portal_url}/log-in`);
    await sendForm(page, { email: ADA.email, password: ADA.password });
    await page.waitForSelector('nav[aria-label=Pages]');
    await page.goto(`${runtime.portal_url}/test/agents/new`);
    await page.click('button:has-text("Hear this voice")');
    await page.waitForSelector('[role=status]:has-text("Speaking")');
    await page.waitForSelector('button:has-text("Hear this voice")');
    const preview = await waitFor('the preview', latestCall);
    const heard = await waitFor('its end', async () => {
      const call = await database.calls.findById(preview._id).lean();
      return call?.durationSeconds === undefined ? undefined : call;
    });
    expect(heard).toMatchObject({ status: 'COMPLETED', endReason: 'caller_hangup' });
    expect(heard.durationSeconds).toBeLessThan(20);
    await page.click('button:has-text("Start talking")');
    await page.waitForSelector('[name=instruction][aria-invalid=true]');
    await page.waitForSelector('text=correct the marked fields');
    await page.fill('[name=instruction]', 'Hello from the draft.');
    await page.click('button:has-text("Start talking")');
    await page.waitForSelector('.talk .agent:has-text("Hello from the draft")');
    expect(await database.agents.countDocuments({ instruction: 'Hello from the draft.' })).toBe(0);
    // The draft is not saved and its call is in progress, so both stay when the page of the call is opened.
    await (await viewCall(page)).close();
    expect(await page.inputValue('[name=instruction]')).toBe('Hello from the draft.');
    const connected = () => page.isVisible('[role=status]:has-text("Connected.")');
    await page.fill('[name=name]', 'Draft desk');
    await page.click('button:has-text("Create agent")');
    await page.waitForURL(/agents\/agent_/);
    await page.waitForSelector('h1:has-text("Draft desk")');
    expect(await connected()).toBe(true);
    await page.fill('[name=instruction]', 'Hello from the saved draft.');
    await page.fill('[name=name]', 'Saved desk');
    await page.click('button:text-is("Save")');
    await page.waitForSelector('h1:has-text("Saved desk")');
    expect(await connected()).toBe(true);
    await page.fill('[aria-label="Your words"]', 'Still here');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.talk .caller:has-text("Still here")');
    expect(await page.textContent('.talk .caller b')).toBe('You');
    expect(await sidesOf(page)).toEqual({ agent: 'left', caller: 'right' });
    expect(await database.agents.countDocuments({ instruction: 'Hello from the saved draft.' })).toBe(1);
    await page.click('button:has-text("Hang up")');
    await page.goto(agentUrl);
    await page.click('button:has-text("Start talking")');
    await page.waitForSelector('text=may not use the microphone');
    await page.waitForSelector('.talk .agent:has-text("Hello from Acme")');
    await expectAccessiblePage(page, 'talk-typed');
    await page.fill('[aria-label="Your words"]', 'I have a question first');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.talk .caller:has-text("I have a question first")');
    for (const [question, answer] of [
      ['Please say yes or no', 'Yes'],
      ['Please type it, or say the digits', 'Kitchen door, 12b'],
    ] as const) {
      await page.locator('.talk .agent').last().filter({ hasText: question }).waitFor();
      await page.fill('[aria-label="Your words"]', answer);
      await page.keyboard.press('Enter');
    }
    await page.waitForSelector('section[aria-label="Extracted data"]:has-text("Kitchen door, 12b")');
    const { _id: callId } = await waitFor('the call', latestCall);
    await page.close({ runBeforeUnload: false });
    const [delivery] = await endedCall(callId);
    expect(delivery?.body).toMatchObject({ status: 'COMPLETED' });
    expect(await database.calls.findById(callId).lean()).toMatchObject({ endReason: 'caller_hangup' });
  });

  it('says why the agent does not speak when the microphone hears sound without a pause', async () => {
    // The browser's fake microphone beeps on and on.
    const page = await open(['microphone']);
    await page.goto(`${runtime.portal_url}/log-in`);
    await sendForm(page, { email: ADA.email, password: ADA.password });
    await page.waitForSelector('nav[aria-label=Pages]');
    await page.goto(`${runtime.portal_url}/test/agents/new`);
    await page.fill('[name=instruction]', 'Hello from the quiet.');
    await page.click('button:has-text("Start talking")');
    const hint = page.locator('[aria-label=Talk] [role=status]:has-text("hears sound all the time")');
    await hint.waitFor();
    await expectAccessiblePage(page, 'noise');
    await page.click('button:text-is("Mute")');
    await hint.waitFor({ state: 'detached' });
    await page.waitForSelector('.talk .agent:has-text("Hello from the quiet")');
    expect(await hint.count()).toBe(0);
    await page.click('button:has-text("Hang up")');
    await page.context().close();
  });
});
