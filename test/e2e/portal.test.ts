import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import type { Runtime } from '../../src/dev/runtime-file.js';
import { eventually } from '../support/http/harness.js';
import { failTwentyEvents } from '../support/failed-events.js';
import { launch, type Launched } from '../support/dev-stack.js';
import {
  BROWSER,
  launchBrowser,
  newContext,
  newPage,
  placeTestCall,
  SAVED,
  violationsOn,
} from '../support/portal-page.js';

jest.setTimeout(300_000);

/** If set, screenshots of every page are saved in this folder. */
const SHOTS = process.env['PORTAL_SCREENSHOTS'];
const XSS = '<img src=x onerror="document.title=1"><b>Acme</b>';
const WITHIN = { timeout: 120_000 };

const describeWithBrowser = BROWSER === undefined ? describe.skip : describe;

describeWithBrowser('the portal in a real browser', () => {
  let stack: Launched;
  let runtime: Runtime;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  const faults: string[] = [];
  const at = (path: string) => `${runtime.portal_url}${path}`;

  beforeAll(async () => {
    stack = await launch({ env: { LOG_LEVEL: 'warn' } });
    runtime = await stack.runtime();
    browser = await launchBrowser();
    context = await newContext(browser);
    page = await newPage(context, faults);
  });
  afterAll(async () => {
    await browser?.close();
    await stack?.destroy();
  });

  async function picture(name: string): Promise<void> {
    if (SHOTS === undefined) return;
    for (const [width, colorScheme] of [
      [375, 'light'],
      [1280, 'light'],
      [1280, 'dark'],
    ] as const) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      const look = colorScheme === 'dark' ? '-dark' : '';
      await page.screenshot({ path: join(SHOTS, `${name}-${width}${look}.png`), fullPage: true });
    }
    await page.emulateMedia({ colorScheme: 'light' });
  }

  async function expectNoViolation(name: string): Promise<void> {
    const violations = await violationsOn(page);
    expect(violations.map(({ id, nodes }) => `${name}: ${id} ${nodes.map(({ html }) => html).join(' ')}`)).toEqual([]);
  }

  /**
   * Waits until the page is loaded. Then asserts that the page has no accessibility violation and no horizontal
   * scrolling on a phone. With `atBoth`, checks accessibility at the widths of a phone and of a desktop.
   */
  async function expectAccessible(name: string, { atBoth = false } = {}): Promise<void> {
    await page.waitForSelector('h1');
    await page.waitForSelector('.skeleton', { state: 'detached' });
    await expectNoViolation(name);
    await page.setViewportSize({ width: 375, height: 800 });
    if (atBoth) await expectNoViolation(name);
    const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth');
    await page.setViewportSize({ width: 1280, height: 900 });
    expect({ name, overflow: Math.max(0, overflow) }).toEqual({ name, overflow: 0 });
    await picture(name);
  }

  it('redirects to the login page without a session, shows errors at their fields, and keeps the input', async () => {
    await page.goto(at('/usage?group_by=agent'));
    await page.waitForURL(/log-in\?to=/);
    await expectAccessible('log-in');
    await page.click('text=Create account');
    // The log-in page, which has the same fields, stays until the script of this one is loaded.
    await page.waitForSelector('[name=account_name]');
    await page.fill('[name=email]', 'ada@example.com');
    await page.fill('[name=password]', 'short');
    await page.click('button[type=submit]');
    await page.waitForSelector('.field-error');
    expect(await page.inputValue('[name=email]')).toBe('ada@example.com');
    await expectAccessible('sign-up');
  });

  it('signs up an account and shows its name as plain text', async () => {
    await page.fill('[name=account_name]', XSS);
    await page.fill('[name=name]', 'Ada');
    await page.fill('[name=password]', 'correct horse battery');
    await page.click('button[type=submit]');
    await page.waitForSelector('nav[aria-label=Pages]');
    expect(await page.textContent('.side-foot')).toContain(XSS);
    await expectAccessible('start-empty');
    // If the page interpreted the account's name as HTML, the script in the name would change the title.
    expect(await page.title()).toBe('Home · Callwright');
  });

  it('shows each page without data', async () => {
    for (const name of ['calls', 'agents', 'numbers', 'usage', 'keys', 'webhooks', 'settings']) {
      await page.goto(at(`/${name}`));
      await expectAccessible(`${name}-empty`);
    }
  });

  let key = '';
  let agentPath = '';
  it('creates an API key, shows it once, and accepts requests with it', async () => {
    await page.goto(at('/keys'));
    await page.fill('[name=name]', XSS);
    await page.click('button:has-text("Create key")');
    await page.waitForSelector('.notice-good code');
    key = (await page.textContent('.notice-good code')) ?? '';
    expect(key).toMatch(/^sk_test_/);
    await page.waitForSelector('table');
    await expectAccessible('keys');
    expect((await withKey()).status).toBe(200);
    await page.reload();
    await page.waitForSelector('table');
    expect(await page.content()).not.toContain(key);
  });

  function withKey(): Promise<Response> {
    return fetch(`${runtime.base_url}/balance`, { headers: { authorization: `Bearer ${key}` } });
  }

  it('creates an agent with output parameters, and shows the server’s errors at each invalid field', async () => {
    await page.goto(at('/agents/new'));
    await page.waitForSelector('[name=name]');
    await page.fill('[name=instruction]', 'Hello, this is about your appointment tomorrow.');
    await page.fill('[name=webhook_url]', 'no address');
    await page.click('summary:has-text("Speech")');
    await page.fill('[name=speech_speed]', '99');
    await page.click('summary:has-text("Speech")');
    await page.click('button:has-text("Create agent")');
    const focused = () => page.evaluate<string | null>(`document.activeElement.getAttribute('name')`);
    const invalid = `[...document.querySelectorAll('[aria-invalid=true]')].map((each) => each.getAttribute('name')).sort()`;
    await eventually(async () => (await focused()) === 'name');
    expect(await page.evaluate<string[]>(invalid)).toEqual(['name', 'speech_speed', 'webhook_url']);
    await page.fill('[name=name]', 'Reminders');
    await page.fill('[name=webhook_url]', runtime.webhook_inbox_url);
    await page.click('summary:has-text("Speech")');
    await page.click('button:has-text("Create agent")');
    await eventually(async () => (await focused()) === 'speech_speed');
    await page.waitForSelector('[name=speech_speed]:visible');
    expect(await page.inputValue('[name=name]')).toBe('Reminders');
    await page.fill('[name=speech_speed]', '');
    await page.fill('[name=webhook_url]', runtime.webhook_inbox_url);
    for (const [index, [name, kind]] of Object.entries([
      ['appointment_confirmed', 'yes-no'],
      ['party_size', 'text'],
    ] as const)) {
      await page.click('text=Add field');
      await page.fill(`[aria-label="Name of field ${Number(index) + 1}"]`, name);
      await page.selectOption(`[aria-label="Type of field ${Number(index) + 1}"]`, kind);
    }
    await expectAccessible('agent-new');
    await page.click('button:has-text("Create agent")');
    await page.waitForURL(/agents\/agent_/);
    agentPath = new URL(page.url()).pathname.replace('/portal/test', '');
    await page.waitForSelector('text=Place test call');
    await expectAccessible('agent');
  });

  it('adds a tool to the agent, with the server’s error at its field, and shows it again', async () => {
    await page.click('text=Add tool');
    await page.fill('[name="tools.0.name"]', 'Find slot');
    await page.fill('[name="tools.0.description"]', 'Finds a free slot on a day.');
    await page.fill('[name="tools.0.url"]', 'https://example.com/slots');
    await page.click('text=Add parameter');
    await page.fill('[aria-label="Name of parameter 1"]', 'day');
    await page.fill('[aria-label="Description of parameter 1"]', 'Like 2026-12-24.');
    await page.click('button:has-text("Save")');
    await page.waitForSelector('[name="tools.0.name"][aria-invalid=true]');
    expect(await page.inputValue('[name="tools.0.url"]')).toBe('https://example.com/slots');
    expect(await page.inputValue('[aria-label="Name of parameter 1"]')).toBe('day');
    await expectAccessible('agent-tool-refused', { atBoth: true });
    await page.fill('[name="tools.0.name"]', 'find_slot');
    await page.selectOption('[name="tools.0.method"]', 'POST');
    await page.click('button:has-text("Save")');
    await page.waitForSelector(SAVED);
    await page.reload();
    await page.click('summary:has-text("find_slot")');
    expect(await page.inputValue('[name="tools.0.method"]')).toBe('POST');
    expect(await page.inputValue('[aria-label="Name of parameter 1"]')).toBe('day');
    await expectAccessible('agent-tool', { atBoth: true });
    await page.click('text=Edit as JSON Schema');
    expect(JSON.parse(await page.inputValue('[name="tools.0.parameters"]'))).toEqual({
      type: 'object',
      properties: { day: { type: 'string', description: 'Like 2026-12-24.' } },
      required: ['day'],
    });
  });

  it('marks an agent of test mode and creates a live copy of it', async () => {
    await page.goto(at('/agents'));
    await page.waitForSelector('td .badge:has-text("Test")');
    await page.goto(at(agentPath));
    await page.waitForSelector('.actions .badge:has-text("Test")');
    await page.click('button:has-text("Copy to live mode")');
    await page.waitForSelector('button:has-text("Place call")');
    expect(new URL(page.url()).pathname).not.toContain(agentPath);
    expect(await page.inputValue('[name=name]')).toBe('Reminders');
    expect(await page.locator('.badge:has-text("Test")').count()).toBe(0);
    await page.waitForSelector('.actions .badge:text-is("Live")');
    await page.waitForSelector('[role=status]:has-text("Copied to live mode. You are in live mode now")');
    await expectAccessible('copied-to-live');
    await page.click('a:has-text("Back to the original in test mode")');
    await page.waitForSelector('.actions .badge:text-is("Test")');
    expect(new URL(page.url()).pathname).toBe(`/portal/test${agentPath}`);
    await page.goto(at('/live/agents'));
    await page.waitForSelector('tbody tr');
    expect(await page.locator('tbody tr').count()).toBe(1);
    await page.click('.modes a:has-text("Test")');
    for (const kind of ['Test', 'Live']) {
      const list = page.locator(`section:has(h2:text-is("${kind} agents")) tbody tr`);
      await list.filter({ hasText: 'Reminders' }).locator(`.badge:text-is("${kind}")`).waitFor();
      expect(await list.count()).toBe(1);
    }
    await expectAccessible('agents-of-both-modes');
    await page.goto(at(agentPath));
  });

  /** Returns the duration in seconds, once the browser has read the header of the audio file. */
  async function audioDuration(): Promise<number> {
    for (const giveUpAt = Date.now() + WITHIN.timeout; ; await page.waitForTimeout(200)) {
      const seconds = await page.evaluate<number>(`document.querySelector('audio').duration`);
      if (seconds > 0 || Date.now() > giveUpAt) return seconds;
    }
  }

  it('places a test call and shows it live until it ends', async () => {
    await page.click('text=+12025550111');
    await placeTestCall(page);
    await page.click('text=/^(Follow|View) call$/');
    await page.waitForSelector('.badge:has-text("in progress")', WITHIN);
    // All of this appears during the call: words while they are spoken, the transcript, cost, timeline, latency, values.
    const live = (selector: string) =>
      page.waitForSelector(`main:has(.badge:has-text("in progress")) ${selector}`, WITHIN);
    await live('.talk .interim.agent');
    await picture('call-live');
    await live('.talk button');
    await live('dd:has-text("so far")');
    await live('[aria-label="Cost by window"] tbody tr');
    await live('.timeline li:has-text("Audio started")');
    await live('[aria-label="Extracted data"] dd');
    await live('.talk button:has-text("response in")');
    await page.waitForSelector('.badge:has-text("completed")', WITHIN);
    await page.waitForSelector('audio', { ...WITHIN, state: 'attached' });
    await page.waitForSelector('text=Cost by window');
    await page.waitForSelector('.talk button');
    expect(await page.locator('.interim').count()).toBe(0);
    const duration = await audioDuration();
    const spoken = await page.textContent('.talk');
    expect(duration).toBeGreaterThan(3);
    expect(spoken).toContain('appointment tomorrow');
    expect(await page.textContent('[aria-label="Extracted data"]')).toContain('appointment_confirmed');
    expect(await page.textContent('[aria-label="Cost by window"] tbody')).toContain('$');
    expect(await page.textContent('.timeline')).toContain('Ringing');
    await page.waitForSelector('[aria-label="Webhook attempts"] .badge:has-text("delivered")', WITHIN);
    await expectAccessible('call');
  });

  it('plays the recording from the turn that is clicked', async () => {
    const last = page.locator('.talk button').last();
    const [minutes = '', seconds = ''] = /(\d+):(\d\d)/.exec((await last.textContent()) ?? '')?.slice(1) ?? [];
    const startsAt = Number(minutes) * 60 + Number(seconds);
    expect(startsAt).toBeGreaterThan(1);
    await last.click();
    const player = `document.querySelector('audio')`;
    expect(await page.evaluate<number>(`${player}.seekable.end(0)`)).toBeGreaterThan(startsAt);
    const playedAt = () => page.evaluate<number>(`${player}.seeking ? 0 : ${player}.currentTime`);
    // The page shows whole seconds, rounded.
    await eventually(async () => (await playedAt()) > startsAt - 0.5);
    expect(await playedAt()).toBeLessThan(startsAt + 3);
  });

  it('lists calls in rows that are links, and finds them by words, number and agent', async () => {
    await page.goto(at('/calls'));
    await page.waitForSelector('.calls tbody tr');
    expect(await page.locator('.calls tbody tr').count()).toBe(1);
    expect(await page.textContent('.calls time')).toMatch(/\d:\d\d:\d\d/);
    for (const search of ['appointm tomorrow', '+1 202-555-0111']) {
      await page.fill('[name=search]', 'zebra');
      await page.waitForSelector('.empty');
      await page.fill('[name=search]', search);
      await page.waitForSelector('.calls tbody tr');
    }
    await page.selectOption('[name=agent_id]', { label: 'Reminders (test)' });
    await page.waitForURL(/agent_id=agent_/);
    await page.waitForSelector('.calls tbody tr');
    await expectAccessible('calls-found', { atBoth: true });
    const hidden = `((wrap) => wrap.scrollWidth - wrap.clientWidth)(document.querySelector('.calls-wrap'))`;
    expect(await page.evaluate<number>(hidden)).toBe(0);
    await page.setViewportSize({ width: 375, height: 800 });
    const card = await page.innerText('.calls tbody tr');
    for (const part of [/Completed/i, /Reminders/, /\$0\.\d+/, /\d:\d\d/]) expect(card).toMatch(part);
    expect(await page.evaluate<number>(hidden)).toBe(0);
    await page.setViewportSize({ width: 1280, height: 900 });
    // A middle click opens what is under the pointer: the link covers the whole row.
    const covered = `(() => {
      const { left, right, top, bottom } = document.querySelector('.calls tbody tr').getBoundingClientRect();
      return [left + 4, (left + right) / 2, right - 4].map(
        (x) => document.elementFromPoint(x, (top + bottom) / 2).closest('a')?.pathname.includes('/calls/call_') === true,
      );
    })()`;
    expect(await page.evaluate<boolean[]>(covered)).toEqual([true, true, true]);
    await page.click('.calls .call-cost', { force: true });
    await page.waitForURL(/\/calls\/call_/);
    await page.waitForSelector('[aria-label="Webhook attempts"]');
  });

  it('sends the webhook of a call again', async () => {
    await page.click('button:has-text("Redeliver")');
    const rows = page.locator('[aria-label="Webhook attempts"] tbody tr');
    await rows.nth(1).waitFor(WITHIN);
    expect(await rows.count()).toBe(2);
    for (const name of ['', '/calls', '/agents', '/usage', '/webhooks', '/settings']) {
      await page.goto(at(name));
      await expectAccessible(name === '' ? 'start' : `${name.slice(1)}-filled`);
    }
  });

  it('reports a failing webhook endpoint until a delivery succeeds', async () => {
    const callId = await failTwentyEvents(runtime.mongodb_uri);
    for (const path of ['', '/webhooks', agentPath]) {
      await page.goto(at(path));
      await page.waitForSelector('[aria-label="Failing webhooks"]');
      expect(await page.textContent('[aria-label="Failing webhooks"]')).toMatch(
        /20 failed events since .*, in this call: HTTP 503\./,
      );
      await expectAccessible(`failing${path.replace(/agent_.*/, 'agent').replaceAll('/', '-')}`, { atBoth: true });
    }
    await page.goto(at(`/calls/${callId}`));
    await page.click('button:has-text("Redeliver")');
    await page.locator('[aria-label="Webhook attempts"] tbody tr').nth(2).waitFor(WITHIN);
    await page.waitForSelector('[aria-label="Webhook attempts"] tr:last-child .badge:has-text("delivered")', WITHIN);
    await page.goto(at('/webhooks'));
    await page.waitForSelector('table');
    await page.waitForLoadState('networkidle');
    expect(await page.locator('[aria-label="Failing webhooks"]').count()).toBe(0);
  });

  it('keeps filters in the URL', async () => {
    await page.goto(at('/calls'));
    await page.selectOption('[name=status]', 'FAILED');
    await page.waitForURL(/status=FAILED/);
    await page.waitForSelector('.empty');
    await page.reload();
    expect(await page.inputValue('[name=status]')).toBe('FAILED');
  });

  it('revokes the key, so that requests with it are rejected', async () => {
    await page.goto(at('/keys'));
    await page.click('button:has-text("Revoke")');
    await page.click('button:has-text("Revoke key")');
    await page.waitForSelector('.badge:has-text("revoked")');
    expect((await withKey()).status).toBe(401);
  });

  it('returns to the requested page after a login', async () => {
    await context.clearCookies();
    await page.goto(at('/test/usage?group_by=agent'));
    await page.waitForURL(/log-in/);
    await page.fill('[name=email]', 'ada@example.com');
    await page.fill('[name=password]', 'correct horse battery');
    await page.click('button[type=submit]');
    await page.waitForSelector('h1:has-text("Usage")');
    expect(page.url()).toBe(at('/test/usage?group_by=agent'));
  });

  it('asks for the password in place when the session ends while a page is open', async () => {
    await context.clearCookies();
    await page.selectOption('[name=group_by]', 'day');
    await page.fill('dialog [name=password]', 'correct horse battery');
    await page.click('dialog button[type=submit]');
    await page.waitForSelector('dialog', { state: 'detached' });
    await page.waitForSelector('th:has-text("Day (UTC)")');
    expect(new URL(page.url()).pathname).toBe('/portal/test/usage');
  });

  it('has no script errors and no Content Security Policy violations', () => {
    expect(faults).toEqual([]);
  });
});
