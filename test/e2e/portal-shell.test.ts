import type { BrowserContext, Page } from 'playwright-core';
import { createLedger } from '../../src/billing/ledger/ledger.js';
import { createCallProjection } from '../../src/calls/projection.js';
import type { Mode } from '../../src/kernel/ids.js';
import { createRecordings } from '../../src/voice/recordings/recordings.js';
import { eventually, type Customer } from '../support/http/harness.js';
import { managementOf } from '../support/http/management-support.js';
import { ADA, BROWSER, expectAccessiblePage, signUp, SAVED } from '../support/portal-page.js';
import { startPortal, type PortalService } from '../support/portal-service.js';
import { newCallId } from '../support/store/test-database.js';

jest.setTimeout(180_000);

const TYPED = 'Greet the caller and ask for the order number.';

(BROWSER === undefined ? describe.skip : describe)('the frame of the portal', () => {
  let portal: PortalService;
  let service: PortalService['service'];
  let context: BrowserContext;
  let page: Page;
  let base = '';
  let customer: Customer;

  beforeAll(async () => {
    const env = {
      PAYMENT_URL: 'https://pay.example.com/callwright',
      OPERATOR_CONTACT_URL: 'mailto:help@example.com',
    };
    portal = await startPortal({ env, timeoutMs: 15_000 });
    ({ service, context, page, base } = portal);
    await signUp(page, portal.url);
    const account = await service.database.accounts.findOne().lean();
    if (account === null) throw new Error('The sign-up stored no account.');
    const agent = await newAgent(account._id, 'live');
    customer = { account, agent, liveKey: '', testKey: '' };
  });
  afterAll(() => portal?.close());
  afterEach(() => expect(portal.faults).toEqual([]));

  const at = (path: string) => page.goto(`${base}/portal${path}`);
  const pathOf = () => new URL(page.url()).pathname.replace(/^\/portal/, '');
  const newAgent = (accountId: string, mode: Mode) =>
    service.agents.create({
      accountId,
      mode,
      name: `Desk ${mode}`,
      instruction: TYPED,
      voice: 'amber',
      language: 'en-US',
    });

  async function recordedCall(mode: Mode): Promise<string> {
    const callId = await managementOf(service).endedCall(customer, { mode, hasRecording: true });
    const writer = createRecordings(service.database).open({ callId, stream: 0, offsetMs: 0 }, Promise.resolve(true));
    writer.write(Buffer.alloc(16_000, 1));
    await writer.close();
    return callId;
  }

  async function useUpBalance(): Promise<void> {
    const ledger = createLedger(service.database);
    const ledgerAccountId = managementOf(service).moneyOf(customer);
    const callId = newCallId();
    await ledger.topUp({ ledgerAccountId, paymentId: 'first', amountMicros: 150_000 });
    await ledger.hold({ ledgerAccountId, callId, window: 0, maxDurationSeconds: 60, microsPerSecond: 2_500 });
    await ledger.settle({ ledgerAccountId, callId, billedSeconds: 60 });
  }

  describe('addresses', () => {
    it('have the mode; a link without one opens the mode of the call, or that of the last visit', async () => {
      expect(pathOf()).toBe('/test');
      const callId = await recordedCall('live');
      await at(`/calls/${callId}`);
      await page.waitForURL(`${base}/portal/live/calls/${callId}`);
      await page.waitForSelector('h1:has-text("Call to +12025550100")');
      expect(await page.title()).toBe('Call to +12025550100 · Callwright');
      await at('/usage?group_by=agent');
      await page.waitForURL(`${base}/portal/live/usage?group_by=agent`);
      await page.click('.modes a:has-text("Test")');
      await page.waitForURL(`${base}/portal/test/usage?group_by=agent`);
      expect(await page.textContent('.modes [aria-current]')).toBe('Test');
    });

    it('of a call or agent of the other mode say so and offer the switch', async () => {
      const callId = await recordedCall('live');
      await at(`/test/calls/${callId}`);
      await page.waitForSelector('text=This call belongs to live mode, and you are in test mode.');
      await expectAccessiblePage(page, 'other-mode');
      await page.click('a:has-text("Switch to live mode")');
      await page.waitForSelector('h1:has-text("Call to")');
      expect(pathOf()).toBe(`/live/calls/${callId}`);
      await page.click('.modes a:has-text("Test")');
      await page.waitForSelector('h1:has-text("Calls")');
      const agent = await newAgent(customer.account._id, 'test');
      await at(`/live/agents/${agent._id}`);
      await page.waitForSelector('text=This agent belongs to test mode');
      await page.click('a:has-text("Switch to test mode")');
      await page.waitForSelector('h1:has-text("Desk test")');
      await at(`/test/calls/${newCallId()}`);
      await page.waitForSelector('[role=alert]');
      expect(await page.textContent('[role=alert]')).not.toContain('belongs to');
    });

    it('of recordings, as the API and webhooks have them, open in a browser with a session', async () => {
      for (const mode of ['live', 'test'] as const) {
        const url = `${base}/calls/${await recordedCall(mode)}/recording`;
        const opened = await context.request.get(url);
        expect([mode, opened.status(), opened.headers()['content-type']]).toEqual([mode, 200, 'audio/wav']);
        expect(opened.headers()['cache-control']).toBe('no-store');
        const other = mode === 'live' ? 'test' : 'live';
        expect((await context.request.get(`${url}?mode=${other}`)).status()).toBe(404);
        const anonymous = await portal.browser.newContext();
        expect((await anonymous.request.get(url)).status()).toBe(401);
        await anonymous.close();
      }
    });
  });

  it('has a logo and an icon, says that no phone rings, and what to do about an empty balance', async () => {
    await at('/live');
    await page.waitForSelector('text=Live mode on the simulated carrier: no phone rings.');
    const icon = await context.request.get(`${base}${await page.getAttribute('link[rel=icon]', 'href')}`);
    expect([icon.status(), icon.headers()['content-type']]).toEqual([200, expect.stringContaining('image/svg+xml')]);
    expect(await page.evaluate<number>(`document.querySelector('.brand img').naturalWidth`)).toBeGreaterThan(0);
    await page.waitForSelector('text=There is no money for live calls yet');
    await page.waitForSelector('text=Add money to place the first one.');
    await useUpBalance();
    await page.reload();
    await page.waitForSelector('text=The balance is used up');
    expect(await page.getAttribute('a:has-text("Add money")', 'href')).toBe(
      `https://pay.example.com/callwright?client_reference_id=${customer.account._id}`,
    );
    expect(await page.getAttribute('a:has-text("Contact the operator")', 'href')).toBe('mailto:help@example.com');
    await page.waitForSelector('text=A simulated person answers, no phone rings');
    await expectAccessiblePage(page, 'empty-balance');
  });

  describe('input that was not saved', () => {
    async function typeAgent(): Promise<void> {
      await at('/test/agents');
      await page.click('a:has-text("Create agent")');
      await page.waitForSelector('[name=instruction]');
      await page.fill('[name=name]', 'Front desk');
      await page.fill('[name=instruction]', TYPED);
    }

    async function stay(): Promise<void> {
      await page.waitForSelector('dialog[open] h2:has-text("Leave without saving?")');
      await page.click('text=Stay on this page');
      await page.waitForSelector('dialog', { state: 'detached' });
      expect(pathOf()).toBe('/test/agents/new');
      expect(await page.inputValue('[name=instruction]')).toBe(TYPED);
    }

    it('stays when the user follows a link, changes the mode, goes back or reloads, unless they confirm', async () => {
      await typeAgent();
      await page.click('nav[aria-label=Pages] a:has-text("Calls")');
      await page.waitForSelector('dialog[open]');
      await expectAccessiblePage(page, 'unsaved');
      await stay();
      await page.click('.modes a:has-text("Live")');
      await stay();
      await page.goBack();
      await stay();
      const asked = new Promise<string>((resolve) => {
        page.once('dialog', (dialog) => void dialog.dismiss().then(() => resolve(dialog.type())));
      });
      void page.reload({ timeout: 3_000 }).catch(() => undefined);
      expect(await asked).toBe('beforeunload');
      expect(await page.inputValue('[name=instruction]')).toBe(TYPED);
      await page.goBack();
      await page.click('text=Leave without saving >> nth=-1');
      await page.waitForSelector('h1:has-text("Agents")');
      expect(pathOf()).toBe('/test/agents');
    });

    it('is sent after the user has logged in again in place, when the session has ended', async () => {
      await typeAgent();
      await context.clearCookies();
      await page.click('button:has-text("Create agent")');
      await page.waitForSelector('dialog[open] h2:has-text("Log in again")');
      await page.fill('dialog [name=password]', 'wrong horse battery');
      await page.click('dialog button[type=submit]');
      await page.waitForSelector('dialog [role=alert]');
      await expectAccessiblePage(page, 'log-in-again');
      await page.keyboard.press('Escape');
      await page.fill('dialog [name=password]', ADA.password);
      await page.click('dialog button[type=submit]');
      await page.waitForSelector('text=Place test call');
      expect(pathOf()).toMatch(/^\/test\/agents\/agent_/);
      expect(await page.inputValue('[name=instruction]')).toBe(TYPED);
      await page.fill('[name=instruction]', `${TYPED} Be brief.`);
      await page.click('button:has-text("Save")');
      await page.waitForSelector(SAVED);
      // Saved input can be left without a question.
      await page.click('nav[aria-label=Pages] a:has-text("Keys")');
      await page.waitForSelector('h1:has-text("API keys")');
    });
  });

  describe('a script of a page that cannot be loaded', () => {
    const SCRIPT = '**/portal/assets/usage-*.js';
    let loads = 0;

    /** Opens a page in the state after a deployment: the script is gone, and the service sends another start page. */
    async function deploy(isUsageBack: () => boolean): Promise<void> {
      await page.route(SCRIPT, (route) => (isUsageBack() ? route.continue() : route.fulfill({ status: 404 })));
      await page.route('**/portal', (route) =>
        route.fulfill({ contentType: 'text/html', body: '<script src="/portal/assets/app-NEWBUILD.js"></script>' }),
      );
      await at('/test/agents');
      await page.waitForSelector('h1:has-text("Agents")');
      loads = 0;
      page.on('load', () => (loads += 1));
    }
    afterEach(async () => {
      await page.unrouteAll();
      page.removeAllListeners('load');
    });

    it('makes the browser load the new portal, and never again for the same one', async () => {
      await deploy(() => loads > 0);
      await page.click('nav[aria-label=Pages] a:has-text("Usage")');
      await page.waitForSelector('h1:has-text("Usage")');
      expect([loads, pathOf()]).toEqual([1, '/test/usage']);
      await page.unrouteAll();
      await deploy(() => false);
      await page.click('nav[aria-label=Pages] a:has-text("Usage")');
      await page.waitForSelector('h1:has-text("This page could not be loaded")');
      expect(loads).toBe(0);
    });
  });

  describe('a lost connection', () => {
    it('is shown until it is back; then the page loads what it could not', async () => {
      await at('/test/calls');
      await page.waitForSelector('.table-wrap');
      await page.click('nav[aria-label=Pages] a:has-text("Agents")');
      await page.waitForSelector('table');
      await context.setOffline(true);
      await page.waitForSelector('text=No connection to the service.');
      await expectAccessiblePage(page, 'offline');
      await page.click('nav[aria-label=Pages] a:has-text("Calls")');
      await page.waitForSelector('[role=alert]:has-text("cannot be reached")');
      await context.setOffline(false);
      await page.waitForSelector('.connection-lost', { state: 'detached' });
      await page.waitForSelector('[role=alert]', { state: 'detached' });
      await page.waitForSelector('.filters');
    });

    it('does not end the live view of a call: its stream is opened again', async () => {
      const callId = newCallId();
      const projection = createCallProjection(service.database);
      const request = await service.database.callRequests.findOne({ mode: 'test' }).lean();
      if (request === null) throw new Error('There is no test call to copy.');
      const now = Date.now();
      await service.database.callRequests.create({ ...request, _id: callId });
      await projection.begin({ ...request, _id: callId }, { callId, sequence: 1, at: now });
      await projection.apply({ callId, sequence: 2, at: now, status: 'IN_PROGRESS', startTime: now });
      let opened = 0;
      await page.route('**/events?*', (route) =>
        (opened += 1) === 1 ? route.fulfill({ status: 502, body: 'bad gateway' }) : route.continue(),
      );
      await at(`/test/calls/${callId}`);
      await page.waitForSelector('.badge:has-text("in progress")');
      await eventually(async () => opened > 1, 10_000);
      await projection.apply(
        { callId, sequence: 3, at: now, status: 'COMPLETED', endTime: now },
        { durationSeconds: 1 },
      );
      await page.waitForSelector('.badge:has-text("completed")');
      expect(opened).toBeGreaterThan(1);
      await page.unrouteAll();
    });
  });
});
