import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { createLedger } from '../../src/billing/ledger/ledger.js';
import { eventually, type Customer } from '../support/http/harness.js';
import { managementOf } from '../support/http/management-support.js';
import { BROWSER, expectAccessiblePage, newPage, signUp } from '../support/portal-page.js';
import { startPortal, type PortalService } from '../support/portal-service.js';
import { storeConversation, storeRecording, turnsOf } from '../support/recorded-call.js';

jest.setTimeout(180_000);

/** Ten minutes; a longer one for pictures. */
const LENGTH_MS = Number(process.env['RECORDED_CALL_MINUTES'] ?? 10) * 60_000;
const SHOTS = process.env['PORTAL_SCREENSHOTS'];
const NAME = 'Appointments of the practice Doctor Hildegard von Bingen-Württemberg, Stuttgart-Degerloch';

const LONG_FIELD = 'notes_of_the_receptionist_about_the_health_insurance_of_the_patient';

(BROWSER === undefined ? describe.skip : describe)('the page of a call', () => {
  let portal: PortalService;
  let page: Page;
  let callId = '';
  let emptyCallId = '';
  const turns = turnsOf(LENGTH_MS);

  beforeAll(async () => {
    portal = await startPortal();
    page = portal.page;
    await signUp(page, portal.url);
    await storeCalls();
  });
  afterAll(() => portal?.close());
  afterEach(() => expect(portal.faults).toEqual([]));

  /** Stores a call with everything, and one in which nothing was said. */
  async function storeCalls(): Promise<void> {
    const { service } = portal;
    const { database } = service;
    const account = await database.accounts.findOne({ name: 'Acme' }).lean();
    const agent = await service.agents.create({
      accountId: account?._id ?? '',
      name: NAME,
      instruction: 'Ask.',
      voice: 'amber',
      language: 'en-US',
    });
    const customer = { account, agent, liveKey: '', testKey: '' } as Customer;
    const management = managementOf(service);
    const url = 'https://hooks.example.com/completed';
    callId = await management.endedCall(customer, {
      mode: 'test',
      webhookUrl: url,
      hasRecording: true,
      engine: 'pipeline',
      outputParameters: JSON.stringify({ confirmation_code: '4152', [LONG_FIELD]: 'Statutory, with a supplement' }),
    });
    emptyCallId = await management.endedCall(customer, { mode: 'test' });
    await storeConversation(database, callId, turns);
    const ledger = createLedger(database);
    const ledgerAccountId = management.moneyOf(customer, 'test');
    const hold = { ledgerAccountId, callId, maxDurationSeconds: 600, microsPerSecond: 2_500 };
    for (const window of [0, 1]) await ledger.hold({ ...hold, window });
    await ledger.settle({ ledgerAccountId, callId, billedSeconds: 75 });
    await storeRecording(database, callId, { turns, lengthMs: LENGTH_MS });
    await database.carrierEvents.create([
      { _id: `${callId}:1`, callId, sequence: 1, status: 'in-progress', at: new Date(), createdAt: new Date() },
    ]);
    const body = JSON.stringify({ call_id: callId, status: 'COMPLETED', transcription: 'agent: Hello. '.repeat(600) });
    const owner = { accountId: customer.account._id, mode: 'test' as const };
    await database.webhookDeliveries.create({ _id: callId, callId, ...owner, url, body, createdAt: new Date() });
    await database.webhookAttempts.create({
      _id: `${callId}:1`,
      callId,
      number: 1,
      startedAt: new Date(),
      finishedAt: new Date(),
      outcome: 'failed',
      error: 'status',
      httpStatus: 503,
      durationMs: 81,
      requestHeaders: [
        { name: 'webhook-id', value: `evt_${callId}_completed` },
        { name: 'webhook-signature', value: '[not stored]' },
      ],
      responseHeaders: [{ name: 'retry-after', value: '120' }],
      responseHeadersLeftOut: 3,
      responseBody: '{"message":"down for maintenance"}',
    });
    const at = new Date();
    const refused = { startedAt: at, finishedAt: at, outcome: 'failed' as const, error: 'connection_refused' };
    await database.webhookAttempts.create({ _id: `${callId}:2`, callId, number: 2, ...refused });
    const blocked = { ...refused, error: 'blocked' };
    await database.webhookAttempts.create({ _id: `${callId}:3`, callId, number: 3, ...blocked });
  }

  async function expectAccessible(name: string, colorScheme: 'light' | 'dark' = 'light'): Promise<void> {
    await page.emulateMedia({ colorScheme });
    await expectAccessiblePage(page, colorScheme === 'dark' ? `${name}-dark` : name);
    await page.emulateMedia({ colorScheme: 'light' });
  }

  const player = `document.querySelector('audio')`;
  const playedAt = () => page.evaluate<number>(`${player}.seeking ? -1 : ${player}.currentTime`);
  const isPaused = () => page.evaluate<boolean>(`${player}.paused`);
  const currentTurn = () => page.locator('.talk [aria-current=true]').textContent();

  it('draws both tracks of the recording without downloading it', async () => {
    const downloads: string[] = [];
    page.on('response', (response) => {
      if (response.url().includes('/recording')) downloads.push(response.headers()['content-range'] ?? 'whole');
    });
    await page.goto(`${portal.url}/test/calls/${callId}`);
    await page.waitForSelector('canvas.waveform-rest');
    await page.waitForSelector('.talk button');
    // Samples colors along the middle of each track, where the columns are.
    const drawn = `(() => {
      const canvas = document.querySelector('canvas.waveform-rest');
      const context = canvas.getContext('2d');
      const colorsAt = (share) => {
        const { data } = context.getImageData(0, Math.round(canvas.height * share), canvas.width, 1);
        const seen = new Set();
        for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255) seen.add(data.slice(i, i + 3).join());
        return [...seen];
      };
      return [colorsAt(0.25), colorsAt(0.75)];
    })()`;
    const [caller, agent] = await eventually(async () => {
      const found = await page.evaluate<string[][]>(drawn);
      return found.every((colors) => colors.length > 0) && found;
    });
    expect(caller).not.toEqual(agent);
    expect(await page.textContent('.waveform')).toContain('Callee');
    expect(await page.textContent('[aria-label=Recording]')).toMatch(/Callee talked \d+:\d\d \(38 %\) · Agent talked/);
    expect(downloads.every((range) => range !== 'whole')).toBe(true);
    await page.waitForSelector('[aria-label=Latency] svg [role=button]');
    await expectAccessible('console');
  });

  it('shows all turns, names that begin beside their values, and speakers outside of their tracks', async () => {
    const measured = await page.evaluate(`(() => {
      const list = document.querySelector('.talk');
      const boxOf = (selector) => document.querySelector(selector).getBoundingClientRect();
      return {
        turns: list.querySelectorAll('button').length,
        hiddenHeight: list.scrollHeight - list.clientHeight,
        namesBeginWith: [...document.querySelectorAll('[aria-label="Extracted data"] dt')].map((dt) => dt.firstChild.nodeName),
        overlap: Math.max(0, boxOf('.waveform-speakers').right - boxOf('.waveform-slider').left),
      };
    })()`);
    expect(measured).toEqual({
      turns: turns.length,
      hiddenHeight: 0,
      namesBeginWith: ['#text', '#text'],
      overlap: 0,
    });
  });

  it('seeks by click and keys, and shows the turn that is heard', async () => {
    const slider = page.locator('[role=slider]');
    await slider.focus();
    await page.keyboard.press('Home');
    for (let press = 0; press < 3; press++) await page.keyboard.press('ArrowRight');
    await eventually(async () => Math.abs((await playedAt()) - 15) < 0.1);
    expect(await slider.getAttribute('aria-valuetext')).toMatch(/^0:15 of /);
    await eventually(async () => (await currentTurn())?.includes('0:15') === true);
    await page.keyboard.press('PageDown');
    await eventually(async () => (await playedAt()) === 0);
    await page.keyboard.press('End');
    await eventually(async () => Math.abs((await playedAt()) - LENGTH_MS / 1_000) < 1);
    const box = await slider.boundingBox();
    await page.mouse.click((box?.x ?? 0) + (box?.width ?? 0) / 2, (box?.y ?? 0) + 20);
    await eventually(async () => Math.abs((await playedAt()) - LENGTH_MS / 2_000) < 2);
    // The list of turns has moved to the one that is heard.
    const isSeen = `(() => {
      const [list, turn] = ['.talk', '.talk .current'].map((each) => document.querySelector(each)?.getBoundingClientRect());
      return list !== undefined && turn !== undefined && turn.top >= list.top && turn.bottom <= list.bottom;
    })()`;
    await eventually(() => page.evaluate<boolean>(isSeen));
    await slider.focus();
    await page.keyboard.press('Space');
    await eventually(async () => !(await isPaused()));
    await page.click('button:has-text("Pause")');
    expect(await isPaused()).toBe(true);
    await page.selectOption('[aria-label=Speed]', '1.5');
    expect(await page.evaluate<number>(`${player}.playbackRate`)).toBe(1.5);
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('a:has-text("Download")')]);
    expect(download.suggestedFilename()).toBe(`${callId}.wav`);
    await download.cancel();
  });

  it('has latencies by stage as a chart, with tooltips, and as a table', async () => {
    const columns = page.locator('[aria-label=Latency] svg [role=button]');
    expect(await columns.count()).toBeGreaterThan(20);
    const label = await columns.first().getAttribute('aria-label');
    expect(label).toMatch(/^Response \d+ at \d+:\d\d: .*: Speech to text \d+ ms, Language model .*, Callwright 25 ms$/);
    await columns.first().focus();
    await page.waitForSelector('.chart-tip:has-text("Language model")');
    await page.keyboard.press('ArrowRight');
    const [next] = /Response \d+/.exec((await columns.nth(1).getAttribute('aria-label')) ?? '') ?? [];
    const focused = `document.activeElement.getAttribute('aria-label')`;
    expect(await page.evaluate<string>(focused)).toContain(`${next} at`);
    await page.click('summary:has-text("Show as a table")');
    const rows = page.locator('[aria-label="Latency by response"] tbody tr');
    await rows.first().waitFor();
    expect(await rows.count()).toBe(turns.length / 2 - 1);
    expect(await rows.first().textContent()).toMatch(/^1/);
    // The check of accessibility takes long for each cell.
    await page.click('summary:has-text("Show as a table")');
  });

  it('has room for values beside long names', async () => {
    for (const width of [1280, 375]) {
      await page.setViewportSize({ width, height: 900 });
      const box = await page.locator('[aria-label="Extracted data"] dd', { hasText: 'Statutory' }).boundingBox();
      // One letter in each line would be narrower, and higher.
      expect({ width, isWide: (box?.width ?? 0) > 90, isFlat: (box?.height ?? 900) < 90 }).toEqual({
        width,
        isWide: true,
        isFlat: true,
      });
    }
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  it('has tool calls, carrier events and the headers and bodies of webhook attempts', async () => {
    await page.click('.entry summary:has-text("find_free_slot")');
    expect(await page.textContent('.entry[open]')).toMatch(/"day": "2026-12-24".*"slots"/s);
    await page.click('summary:has-text("Raw events of the carrier")');
    expect(await page.textContent('[aria-label="Events of the carrier"] tbody')).toContain('in-progress');
    expect(await page.textContent('[aria-label="Cost by window"] tbody')).toMatch(/1 min.*\$0\.15.*\$0\.15/);
    await page.waitForSelector('[aria-label="Webhook attempts"] td:text-is("Connection refused")');
    await page.waitForSelector('[aria-label="Webhook attempts"] td:text-is("HTTP 503")');
    await page.waitForSelector('[aria-label="Webhook attempts"] td:text-is("Not sent: URL not allowed")');
    await page.click('[aria-label="Request and response of attempt 3"]');
    await page.waitForSelector('.exchange :text("port 443, 80 or another one"):text("WEBHOOK_ALLOW_CIDRS")');
    await page.click('[aria-label="Request and response of attempt 2"]');
    await page.waitForSelector('.exchange :text-is("Connection refused")');
    await page.click('[aria-label="Request and response of attempt 1"]');
    await page.waitForSelector('.exchange');
    const shown = (await page.textContent('.exchange')) ?? '';
    for (const part of [
      'POST https://hooks',
      'webhook-signature[not stored]',
      'HTTP 503',
      'retry-after120',
      '3 more were not stored.',
      'down for',
    ]) {
      expect(shown).toContain(part);
    }
    expect(shown).not.toContain('undefined');
    await page.click('button:has-text("Show all")');
    expect((await page.textContent('.exchange pre'))?.length).toBeGreaterThan(8_000);
    await expectAccessible('console-open');
    await expectAccessible('console-open', 'dark');
  });

  it('says what is missing in a call in which nothing was said', async () => {
    await page.goto(`${portal.url}/test/calls/${emptyCallId}`);
    for (const text of ['No transcript', 'used no tools', 'No data was extracted', 'No webhook URL', 'No money']) {
      await page.waitForSelector(`text=${text}`);
    }
    expect(await page.locator('[role=slider]').count()).toBe(0);
    await expectAccessible('console-empty');
    const { callRequests } = portal.service.database;
    await callRequests.updateOne({ _id: emptyCallId }, { $set: { 'agent.storage': 'outcome_only' } });
    await page.reload();
    for (const text of ['This agent keeps no transcript.', 'This agent keeps no tool calls.', 'Outcome only']) {
      await page.waitForSelector(`text=${text}`);
    }
  });

  it('loads at most 90 kB of compressed scripts before the first page, and the charts only with a call', async () => {
    const scripts = new Map<string, number>();
    const storageState = await portal.context.storageState();
    const context = await portal.browser.newContext({ storageState });
    const fresh = await newPage(context, portal.faults);
    fresh.on('response', async (response) => {
      if (!response.url().endsWith('.js')) return;
      scripts.set(response.url(), Number((await response.allHeaders())['content-length'] ?? 1_000_000));
    });
    await fresh.goto(`${portal.url}/test`);
    await fresh.waitForSelector('h1');
    await fresh.waitForLoadState('networkidle');
    expect([...scripts.values()].reduce((sum, bytes) => sum + bytes, 0)).toBeLessThan(90_000);
    expect([...scripts.keys()].some((url) => url.includes('/call-'))).toBe(false);
    if (SHOTS !== undefined) await fresh.screenshot({ path: join(SHOTS, 'console-first.png') });
    await context.close();
  });
});
