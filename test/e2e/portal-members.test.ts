import { AxeBuilder } from '@axe-core/playwright';
import { join } from 'node:path';
import { chromium, type Browser, type Page } from 'playwright-core';
import { createPorts } from '../../src/dev/processes/free-port.js';
import { startService, type Service } from '../support/http/harness.js';
import { BROWSER } from '../support/portal-page.js';

jest.setTimeout(180_000);

const SHOTS = process.env['PORTAL_SCREENSHOTS'];
const PASSWORD = 'correct horse battery';
const MEMBER = 'grace@example.com';

(BROWSER === undefined ? describe.skip : describe)('the members of an account in the portal', () => {
  const ports = createPorts(process.env);
  let service: Service;
  let browser: Browser;
  let page: Page;
  let base = '';

  beforeAll(async () => {
    const port = await ports.take();
    base = `http://127.0.0.1:${port}`;
    service = await startService({ worker: false, env: { PUBLIC_BASE_URL: base, API_PORT: String(port) } });
    browser = await chromium.launch({ executablePath: BROWSER ?? '', args: ['--no-sandbox'] });
    page = await newPage();
    await fillIn(page, '/sign-up', { account_name: 'Acme', name: 'Ada', email: 'ada@example.com', password: PASSWORD });
    await page.waitForSelector('nav[aria-label=Pages]');
  });
  afterAll(async () => {
    await browser?.close();
    await service?.close();
    await ports.release();
  });

  async function newPage(): Promise<Page> {
    const opened = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
    opened.setDefaultTimeout(30_000);
    return opened;
  }

  async function fillIn(on: Page, path: string, values: Record<string, string>): Promise<void> {
    await on.goto(`${base}/portal${path}`);
    for (const [name, value] of Object.entries(values)) await on.fill(`[name=${name}]`, value);
    await on.click('button[type=submit]');
  }

  async function expectDialog(title: string): Promise<void> {
    await page.waitForSelector(`dialog[open]:has-text("${title}")`);
    const { violations } = await new AxeBuilder({ page }).analyze();
    expect(violations.map(({ id }) => id)).toEqual([]);
    if (SHOTS !== undefined) await page.screenshot({ path: join(SHOTS, `${title.split(' ')[0]}-dialog.png`) });
  }

  const roleOf = () => page.inputValue(`[aria-label="Role of ${MEMBER}"]`);

  it('are invited with a link that the owner sends', async () => {
    await page.goto(`${base}/portal/settings`);
    await page.fill('[name=email]', MEMBER);
    await page.selectOption('[name=role]', 'owner');
    await page.click('button:has-text("Send invitation")');
    const link = (await page.textContent('.notice pre')) ?? '';
    expect(link).toMatch(/accept-invitation#token=/);
    const elsewhere = await newPage();
    await fillIn(elsewhere, link.slice(`${base}/portal`.length), { name: 'Grace', password: PASSWORD });
    await elsewhere.waitForSelector('nav[aria-label=Pages]');
    await elsewhere.context().close();
    await page.reload();
    await page.waitForSelector(`[aria-label="Role of ${MEMBER}"]`);
    expect(await roleOf()).toBe('owner');
  });

  it('stop being an owner only after a confirmation', async () => {
    await page.selectOption(`[aria-label="Role of ${MEMBER}"]`, 'viewer');
    await expectDialog(`Change the role of ${MEMBER} to viewer?`);
    await page.keyboard.press('Escape');
    await page.waitForSelector('dialog', { state: 'detached' });
    expect(await roleOf()).toBe('owner');
    await page.selectOption(`[aria-label="Role of ${MEMBER}"]`, 'viewer');
    await page.click('dialog button:has-text("Change role")');
    await page.waitForSelector('dialog', { state: 'detached' });
    await page.reload();
    await page.waitForSelector(`[aria-label="Role of ${MEMBER}"]`);
    expect(await roleOf()).toBe('viewer');
  });

  it('are removed only after a confirmation', async () => {
    await page.click(`[aria-label="Remove ${MEMBER}"]`);
    await expectDialog(`Remove ${MEMBER}?`);
    await page.click('dialog button:has-text("Remove member")');
    await page.waitForSelector(`[aria-label="Remove ${MEMBER}"]`, { state: 'detached' });
    await page.waitForSelector('dialog', { state: 'detached' });
    expect(await page.textContent('[aria-label=Members]')).not.toContain(MEMBER);
  });
});
