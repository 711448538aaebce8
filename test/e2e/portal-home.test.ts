import type { Browser, Page } from 'playwright-core';
import { createAgents } from '../../src/agents/agents.js';
import { openDatabase, type Database } from '../../src/database.js';
import type { Runtime } from '../../src/dev/runtime-file.js';
import { DEMO_EMAIL } from '../../src/dev/seed.js';
import type { Mode } from '../../src/kernel/ids.js';
import { launch, type Launched } from '../support/dev-stack.js';
import {
  BROWSER,
  expectAccessiblePage,
  launchBrowser,
  newContext,
  newPage,
  placeTestCall,
  sendForm,
  signUp,
} from '../support/portal-page.js';

jest.setTimeout(300_000);

/** Talks, says goodbye and hangs up. */
const CALLEE = '+12025550100';
const OF_TEST = 'Test desk';
const OF_LIVE = 'Live desk';
const OLDEST = 'Oldest desk';

(BROWSER === undefined ? describe.skip : describe)('the home page', () => {
  let stack: Launched;
  let runtime: Runtime;
  let database: Database;
  let browser: Browser;
  let page: Page;
  const faults: string[] = [];

  beforeAll(async () => {
    stack = await launch({ env: { LOG_LEVEL: 'warn' } });
    runtime = await stack.runtime();
    database = await openDatabase(runtime.mongodb_uri);
    browser = await launchBrowser();
    page = await newPage(await newContext(browser), faults, 60_000);
    await signUp(page, runtime.portal_url);
  });
  afterAll(async () => {
    await browser?.close();
    await database?.close();
    await stack?.destroy();
  });
  afterEach(() => expect(faults).toEqual([]));

  const at = (path: string) => page.goto(`${runtime.portal_url}/test${path}`);

  async function storeAgent(mode: Mode, name: string): Promise<void> {
    const account = await database.accounts.findOne({ name: 'Acme' }).lean();
    const about = {
      accountId: account?._id ?? '',
      instruction: 'This is about your appointment.',
      voice: 'amber',
      language: 'en-US',
      webhookUrl: runtime.webhook_inbox_url,
    };
    await createAgents(database).create({ ...about, mode, name });
  }

  it('counts the first steps that a person took, not what a development service begins with', async () => {
    const other = await newPage(await newContext(browser), faults, 60_000);
    await other.goto(`${runtime.portal_url}/log-in`);
    const [, password = ''] = /password +(\S+)/.exec(stack.output()) ?? [];
    await sendForm(other, { email: DEMO_EMAIL, password });
    await other.waitForSelector('[aria-label="First steps"]:has-text("0 of 5 done")');
    await other.goto(`${runtime.portal_url}/live`);
    await other.click('[aria-label="First steps"] summary:has-text("Go live")');
    await other.click('[aria-label="First steps"] a:has-text("Create a live key")');
    await other.waitForURL(/\/portal\/live\/keys/);
    await other.goto(`${runtime.portal_url}/test/agents/new`);
    await other.click('button:has-text("use the local inbox")');
    expect(await other.inputValue('[name=webhook_url]')).toBe(runtime.webhook_inbox_url);
    await other.waitForSelector(`.hint:has-text("curl ${runtime.webhook_inbox_url}")`);
    await expectAccessiblePage(other, 'local-inbox');
    await other.context().close();
  });

  it('is not where an account without an agent is sent to place a call', async () => {
    for (const path of ['/calls', '/usage']) {
      await at(path);
      await page.click('.empty a:has-text("Create an agent to place a call")');
      await page.waitForSelector('h1:has-text("Create agent")');
      expect(new URL(page.url()).pathname).toBe('/portal/test/agents/new');
    }
  });

  it('leads to a form that says what the offline demo makes of its text', async () => {
    await at('/agents/new');
    await page.waitForSelector('label:has-text("Name (required)")');
    expect(await page.getAttribute('[name=instruction]', 'placeholder')).toContain('your appointment tomorrow');
    const askNothing = '[aria-label=Talk] :text("Add a field under Data to hear it ask.")';
    await page.waitForSelector(askNothing);
    await page.click('text=Add field');
    await page.fill('[aria-label="Name of field 1"]', 'day');
    const heard = page.locator('[aria-labelledby] .output-field .hint');
    expect(await heard.allTextContents()).toEqual([
      expect.stringMatching(/hears only digits here\. Type other answers/),
    ]);
    for (const [kind, hint] of [
      ['yes-no', /hears yes and no/],
      ['number', /hears digits/],
      ['choices', /hears the listed choices/],
    ] as const) {
      await page.selectOption('[aria-label="Type of field 1"]', kind);
      expect(await heard.allTextContents()).toEqual([expect.stringMatching(hint)]);
    }
    await page.waitForSelector(askNothing, { state: 'detached' });
    await page.fill('[aria-label="Choices of field 1"]', 'Monday');
    await page.waitForSelector('.output-field .field-error:text("at least two choices")');
    await page.fill('[name=name]', 'One choice');
    await page.fill('[name=instruction]', 'Ask.');
    await page.click('button:has-text("Create agent")');
    await page.waitForSelector('.template > .field-error:text("at least two different choices")');
    await expectAccessiblePage(page, 'one-choice');
    await page.click('button:has-text("Start talking")');
    await page.waitForSelector('text=correct the marked fields');
    await page.fill('[aria-label="Choices of field 1"]', 'Monday, Friday');
    const hint = page.locator('.notice:has-text("says “You are…”")');
    await page.fill('[name=instruction]', 'Ask the caller for a day.');
    expect(await hint.count()).toBe(0);
    await page.fill('[name=instruction]', 'You are a friendly receptionist.');
    await hint.waitFor();
    await expectAccessiblePage(page, 'first-sentence');
    await hint.locator('button:text-is("First message")').click();
    await page.waitForSelector('[name=first_message]:focus');
    await page.keyboard.type('Hello.');
    await hint.waitFor({ state: 'detached' });
    await page.fill('[name=webhook_url]', 'http://127.0.0.1:25/');
    await page.fill('[name=name]', 'Blocked');
    await page.click('button:has-text("Create agent")');
    await page.waitForSelector('.field-error:text("must not use port 25"):text("Use port 443, 80 or another one")');
    await page.click('button:has-text("Discard")');
    await page.click('button:has-text("Discard changes")');
  });

  it('offers the agents of live calls in test mode, marked, after those of test calls', async () => {
    await storeAgent('live', OLDEST);
    await at('');
    await page.waitForSelector(`[aria-label="Talk with an agent"]:has-text("${OLDEST}") .badge:text-is("Live")`);
    await storeAgent('test', OF_TEST);
    await storeAgent('live', OF_LIVE);
    await at('/agents');
    await page.waitForSelector(`tr:has-text("${OF_TEST}") .badge:text-is("Test")`);
    await page.waitForSelector(`tr:has-text("${OF_LIVE}") .badge:text-is("Live")`);
    await page.click(`a:has-text("${OF_LIVE}")`);
    await page.waitForSelector('.actions .badge:text-is("Live")');
    await page.waitForSelector('text=Live calls use this agent: saving changes them.');
    await page.waitForSelector(`[aria-label="Test call"] :text("${OF_LIVE} calls this number")`);
    await expectAccessiblePage(page, 'agent-of-other-mode');
    await at('');
    await page.waitForSelector(`[aria-label="Talk with an agent"]:has-text("${OF_TEST}")`);
    // The request of the README: the number of the person who answers the questions of the demo agent.
    const { _id: agentId } = (await database.agents.findOne({ name: OF_TEST }).lean()) ?? { _id: '' };
    expect(await page.textContent('[aria-label="Call with the API"] pre')).toContain(
      `{"to_phone_number": "+12025550111", "agent_id": "${agentId}"}`,
    );
    const options = page.locator('[name=calling_agent] option');
    expect(await options.allTextContents()).toEqual([`${OF_TEST} (test)`, `${OF_LIVE} (live)`, `${OLDEST} (live)`]);
    await expectAccessiblePage(page, 'home-with-agents');
  });

  it('shows the calls that are placed on it, and what they cost, while they happen', async () => {
    const figures = () => page.locator('[aria-label="Balance and usage"] dd').allTextContents();
    expect(await figures()).toEqual(['$1,000.00', '0', '0 s', '$0.00']);
    await page.selectOption('[name=calling_agent]', { label: `${OF_LIVE} (live)` });
    await page.fill('[name=to_phone_number]', CALLEE);
    await placeTestCall(page);
    const row = `[aria-label="Recent calls"] tbody tr:has-text("${OF_LIVE}")`;
    await page.waitForSelector(`${row} .badge:text-matches("^(idle|ringing|in progress)$", "i")`);
    await page.waitForSelector(`${row} .badge:text-is("Completed")`);
    await page.waitForSelector('.step.taken:has-text("Hear an agent")');
    await page.waitForSelector('[aria-label="Balance and usage"] dd:text-is("1")');
    const [balance, , length, cost] = await figures();
    expect(balance).toMatch(/^\$999\.9/);
    expect(length).toMatch(/[1-9]\d* s$/);
    expect(cost).toMatch(/^\$0\.0*[1-9]/);
  });

  it('shows calls that were placed elsewhere when the user returns to it', async () => {
    const page2 = await page.context().newPage();
    await page2.goto(`${runtime.portal_url}/test`);
    await page2.fill('[name=to_phone_number]', '+12025550101');
    await placeTestCall(page2);
    await page2.waitForSelector('[aria-label="Recent calls"] .badge:text-is("Failed")');
    await page2.close();
    await page.evaluate(`dispatchEvent(new Event('focus'))`);
    await page.waitForSelector('[aria-label="Recent calls"] .badge:text-is("Failed")');
    expect(await page.locator('[aria-label="Recent calls"] tbody tr').count()).toBe(2);
  });

  it('is left for a webhook, which is listed by its call and leads to its attempts', async () => {
    await at('/webhooks');
    await page.click(`[aria-label="Webhook deliveries"] a:has-text("Call to ${CALLEE} · ${OF_LIVE}")`);
    await page.waitForSelector('[aria-label="Webhook attempts"]');
    const isInView = `(() => {
      const { top } = document.querySelector('#webhook').getBoundingClientRect();
      return top >= 0 && top < innerHeight;
    })()`;
    await page.waitForFunction(isInView);
    expect(new URL(page.url()).hash).toBe('#webhook');
  });
});
