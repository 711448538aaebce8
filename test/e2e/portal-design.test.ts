import type { Page } from 'playwright-core';
import { createLedgerStorage } from '../../src/billing/ledger/storage.js';
import { createLedgerOn } from '../../src/billing/ledger/ledger.js';
import { eventually, type Customer } from '../support/http/harness.js';
import { managementOf } from '../support/http/management-support.js';
import { BROWSER, expectAccessiblePage, expectContrast, signUp } from '../support/portal-page.js';
import { startPortal, type PortalService } from '../support/portal-service.js';

jest.setTimeout(180_000);

const NAME = 'Appointments of the practice Doctor Hildegard von Bingen-Württemberg, Stuttgart-Degerloch';
const DAY_MS = 86_400_000;
/** The script of the API reference is large. */
const SLOW = { timeout: 60_000 };

(BROWSER === undefined ? describe.skip : describe)('finding one’s way in the portal', () => {
  let portal: PortalService;
  let page: Page;
  let customer: Customer;
  let callId = '';

  beforeAll(async () => {
    portal = await startPortal({ timeoutMs: 15_000 });
    page = portal.page;
    await signUp(page, portal.url);
  });
  afterAll(() => portal?.close());
  afterEach(() => expect(portal.faults).toEqual([]));

  const at = (path: string) => page.goto(`${portal.url}/test${path}`);
  const pathOf = () => new URL(page.url()).pathname.replace('/portal/test', '');
  const stepsTaken = () => page.locator('[aria-label="First steps"] .step.taken summary').allTextContents();

  /** Stores what an account has after its first days: an agent, calls on several days, a webhook and a key. */
  async function storeFirstDays(): Promise<void> {
    const { database, agents } = portal.service;
    const account = await database.accounts.findOne({ name: 'Acme' }).lean();
    const accountId = account?._id ?? '';
    const about = { accountId, mode: 'test' as const, instruction: 'Ask.', voice: 'amber', language: 'en-US' };
    await agents.create({ ...about, name: 'Reminders' });
    const agent = await agents.create({ ...about, name: NAME });
    customer = { account, agent, liveKey: '', testKey: '' } as Customer;
    const management = managementOf(portal.service);
    for (const daysAgo of [0, 1, 4]) {
      const createdAt = new Date(Date.now() - daysAgo * DAY_MS - 20_000);
      callId = await management.endedCall(customer, { mode: 'test', createdAt });
      const ledgerAccountId = management.moneyOf(customer, 'test');
      const ledger = createLedgerOn(createLedgerStorage(database), { now: () => createdAt.getTime() });
      await ledger.hold({ ledgerAccountId, callId, window: 0, maxDurationSeconds: 600, microsPerSecond: 2_500 });
      await ledger.settle({ ledgerAccountId, callId, billedSeconds: 60 - daysAgo * 10 });
    }
    const url = 'https://hooks.example.com/completed';
    const state = 'delivered' as const;
    await database.webhookDeliveries.create({
      _id: callId,
      callId,
      accountId,
      mode: 'test',
      url,
      body: '{}',
      state,
      createdAt: new Date(),
    });
  }

  async function expectAccessible(name: string): Promise<void> {
    await page.waitForSelector('.skeleton', { state: 'detached' });
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await expectAccessiblePage(page, `${name}-${colorScheme}`);
    }
  }

  /** Opens an operation in the API reference, with the parts that only an open one has. */
  async function openOperation(): Promise<void> {
    await page.click('.opblock-post .opblock-summary-control >> nth=0', SLOW);
    await page.waitForSelector('.opblock-post.is-open .responses-table', SLOW);
    await page.click('.try-out__btn', SLOW);
    await page.waitForSelector('.btn.execute', SLOW);
  }

  it('begins with steps to take, which can be hidden', async () => {
    await page.waitForSelector('[aria-label="First steps"]');
    expect(await stepsTaken()).toEqual([]);
    expect(await page.textContent('[aria-label="First steps"] [aria-current=step] summary')).toContain('Hear an agent');
    await expectAccessible('first-steps');
    await page.click('text=Hide first steps');
    await page.reload();
    await page.click('text=Show first steps');
    await page.waitForSelector('[aria-label="First steps"]');
    for (const name of ['calls', 'agents', 'numbers', 'usage', 'keys', 'webhooks']) {
      await at(`/${name}`);
      await page.waitForSelector('.empty .empty-title');
      if (process.env['PORTAL_SCREENSHOTS'] !== undefined) await expectAccessible(`empty-${name}`);
    }
  });

  it('checks off the steps that the account has taken', async () => {
    await storeFirstDays();
    await at('');
    await page.waitForSelector('[aria-label="First steps"]');
    const done = await stepsTaken();
    expect(done.map((text) => text.replace(' (done)', ''))).toEqual([
      'Hear an agent',
      'Write yours',
      'Receive a webhook',
    ]);
    await page.click('[aria-label="First steps"] a:has-text("Create a test key")');
    await page.fill('[name=name]', 'backend');
    await page.click('button:has-text("Create key")');
    await page.waitForSelector('td:has-text("backend")');
    await at('');
    await page.waitForSelector('.step.taken:has-text("Get a key")');
    await expectAccessible('home');
    // The last step is a live call. The page says once that nothing is left.
    await managementOf(portal.service).endedCall(customer);
    await page.reload();
    await page.waitForSelector('[aria-label="First steps"]:has-text("All done.")');
    await expectAccessible('all-done');
    await page.reload();
    await page.waitForSelector('[aria-label="Recent calls"]');
    expect(await page.locator('[aria-label="First steps"]').count()).toBe(0);
  });

  it('finds pages, agents and calls by the keyboard', async () => {
    await at('/settings');
    await page.waitForSelector('[name=current_password]');
    await page.focus('.find');
    const active = () =>
      page.evaluate<string>(
        `document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))?.textContent ?? ''`,
      );
    await page.keyboard.press('Control+k');
    await page.waitForSelector('.palette[open] [role=option]:has-text("Call to")');
    await expectAccessible('palette');
    expect(await active()).toBe('Home');
    await page.keyboard.press('ArrowUp');
    expect(await active()).toBe('API reference');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    expect(await active()).toBe('Calls');
    await page.keyboard.press('Escape');
    await page.waitForSelector('.palette', { state: 'detached' });
    expect(await page.evaluate<boolean>(`document.activeElement.classList.contains('find')`)).toBe(true);

    for (const [text, result, path] of [
      ['web', 'Webhooks', '/webhooks'],
      ['doctor wurtt', NAME, `/agents/${customer.agent._id}`],
      ['purple elephant', `Call to +12025550100 · ${NAME}`, /^\/calls\/call_/],
      [callId, callId, `/calls/${callId}`],
    ] as const) {
      await page.keyboard.press('Control+k');
      await page.keyboard.type(text);
      await eventually(async () => (await active()).startsWith(result));
      await page.keyboard.press('Enter');
      await page.waitForSelector('.palette', { state: 'detached' });
      await eventually(async () => pathOf().match(path) !== null);
      expect(await page.evaluate<string>('document.activeElement.id')).toBe('content');
    }
    await page.keyboard.press('Control+k');
    await page.keyboard.type('zebra');
    await page.waitForSelector('.palette-none:has-text("Nothing found")');
    await expectAccessible('palette-none');
    await page.keyboard.press('Control+k');
    await page.waitForSelector('.palette', { state: 'detached' });
  });

  it('shows the rows of a table as cards on a phone, with the title of each value', async () => {
    await page.setViewportSize({ width: 375, height: 900 });
    await at('/keys');
    await page.waitForSelector('.cards tbody tr');
    const measured = await page.evaluate(`(() => {
      const expires = document.querySelector('.cards tbody tr td:nth-child(5)');
      const { scrollWidth, clientWidth } = document.querySelector('.cards-wrap');
      return {
        height: Math.sign(expires.offsetHeight),
        title: getComputedStyle(expires, '::before').content,
        hiddenWidth: scrollWidth - clientWidth,
      };
    })()`);
    expect(measured).toEqual({ height: 1, title: expect.stringContaining('"Expires"'), hiddenWidth: 0 });
    expect(await page.getByRole('cell', { name: 'backend', exact: true }).count()).toBe(1);
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  it('has shortcuts, which are listed, do nothing in fields, and can be turned off', async () => {
    await at('/agents');
    await page.waitForSelector('table');
    await page.keyboard.press('g');
    await page.keyboard.press('u');
    await page.waitForSelector('h1:has-text("Usage")');
    await page.keyboard.type('gn');
    await page.waitForSelector('h1:has-text("Phone numbers")');
    await page.keyboard.press('n');
    await page.waitForSelector('[name=instruction]');
    await page.fill('[name=name]', '');
    await page.keyboard.type('gc?n');
    expect([await page.inputValue('[name=name]'), pathOf()]).toEqual(['gc?n', '/agents/new']);
    await page.focus('.find');
    await page.keyboard.press('g');
    await page.keyboard.press('a');
    await page.click('text=Leave without saving >> nth=-1');
    await page.waitForSelector('h1:has-text("Agents")');
    await page.keyboard.press('?');
    await page.waitForSelector('dialog h2:has-text("Keyboard shortcuts")');
    await expectAccessible('shortcuts');
    await page.click('[name=shortcuts]');
    await page.keyboard.press('Escape');
    await page.waitForSelector('dialog', { state: 'detached' });
    await page.keyboard.press('?');
    await page.keyboard.press('Control+k');
    await page.waitForSelector('.palette');
    expect(await page.locator('dialog').count()).toBe(1);
    await page.keyboard.press('Escape');
    await page.evaluate(`localStorage.removeItem('callwright-shortcuts')`);
  });

  it('shows usage as a chart with axes, values and the calls of each column', async () => {
    await at('/usage');
    const columns = page.locator('[aria-label=Cost] svg [role=link]');
    await columns.first().waitFor();
    // Days without calls are in between.
    expect(await columns.count()).toBe(5);
    expect(await columns.first().getAttribute('aria-label')).toMatch(/^\d{4}-\d\d-\d\d: \$0\.05, 1 call, 20 s$/);
    expect(await page.locator('.chart-value').allTextContents()).toEqual(['$0.00', '$0.05', '$0.10', '$0.15']);
    await columns.first().focus();
    await page.keyboard.press('End');
    await page.waitForSelector('.chart-tip:has-text("$0.15")');
    await expectAccessible('usage');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/calls\?from=\d{4}-\d\d-\d\d&to=/);
    await page.waitForSelector('.calls tbody tr');
    expect(await page.locator('.calls tbody tr').count()).toBe(1);
    await at('/usage?group_by=agent');
    await columns.first().waitFor();
    expect(await columns.first().getAttribute('aria-label')).toContain(NAME);
    await expectAccessible('usage-by-agent');
  });

  it('shows the API reference in the chosen theme, and leads back from the list of errors', async () => {
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.goto(`${portal.base}/docs/errors`);
    await page.click('nav >> text=API reference');
    await page.waitForSelector('html.dark-mode #interface .swagger-ui', SLOW);
    await openOperation();
    await expectContrast(page);
    await page.evaluate(`localStorage.setItem('callwright-theme', 'light')`);
    await page.goto(`${portal.base}/docs`);
    await page.waitForSelector('#interface .swagger-ui', SLOW);
    expect(await page.locator('html.dark-mode').count()).toBe(0);
    await openOperation();
    await expectContrast(page);
    await page.evaluate(`localStorage.removeItem('callwright-theme')`);
    await page.emulateMedia({ colorScheme: 'light' });
  });

  it('keeps the navigation in view while a long page scrolls', async () => {
    await page.setViewportSize({ width: 1280, height: 600 });
    await at('/settings');
    await page.waitForSelector('[aria-label="Audit log"] table');
    await page.evaluate('window.scrollTo(0, 400)');
    expect(await page.evaluate<number>(`document.querySelector('.side').getBoundingClientRect().top`)).toBe(0);
    await expectAccessible('settings');
    if (process.env['PORTAL_SCREENSHOTS'] === undefined) return;
    for (const name of ['calls', 'agents', 'numbers', 'keys', 'webhooks', `agents/${customer.agent._id}`]) {
      await at(`/${name}`);
      await page.waitForSelector('h1');
      await expectAccessible(name.replace(/\/.*/, '-editor'));
    }
  });
});
