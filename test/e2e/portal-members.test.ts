import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { ADA, BROWSER, newContext, newPage, sendForm, signUp, violationsOn } from '../support/portal-page.js';
import { startPortal, type PortalService } from '../support/portal-service.js';

jest.setTimeout(180_000);

const SHOTS = process.env['PORTAL_SCREENSHOTS'];
const MEMBER = 'grace@example.com';

(BROWSER === undefined ? describe.skip : describe)('the members of an account in the portal', () => {
  let portal: PortalService;
  let page: Page;

  beforeAll(async () => {
    portal = await startPortal();
    page = portal.page;
    await signUp(page, portal.url);
  });
  afterAll(() => portal?.close());
  afterEach(() => expect(portal.faults).toEqual([]));

  async function expectDialog(title: string): Promise<void> {
    await page.waitForSelector(`dialog[open]:has-text("${title}")`);
    const violations = await violationsOn(page);
    expect(violations.map(({ id }) => id)).toEqual([]);
    if (SHOTS !== undefined) await page.screenshot({ path: join(SHOTS, `${title.split(' ')[0]}-dialog.png`) });
  }

  const roleOf = () => page.inputValue(`[aria-label="Role of ${MEMBER}"]`);

  it('are invited with a link that the owner sends', async () => {
    await page.goto(`${portal.url}/settings`);
    await page.fill('[name=email]', MEMBER);
    await page.selectOption('[name=role]', 'owner');
    await page.click('button:has-text("Send invitation")');
    const link = (await page.textContent('.notice pre')) ?? '';
    expect(link).toMatch(/accept-invitation#token=/);
    const elsewhere = await newPage(await newContext(portal.browser), portal.faults);
    await elsewhere.goto(link);
    await sendForm(elsewhere, { name: 'Grace', password: ADA.password });
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

  it('see in the audit log which change may not have been made', async () => {
    await page.waitForSelector('[aria-label="Audit log"] table');
    expect(await page.textContent('[aria-label="Audit log"]')).not.toContain('not confirmed');
    // As the API writes it if a request fails with a 5xx status after its change has begun.
    await portal.service.database.auditEntries.updateMany({ action: 'inviteMember' }, { $set: { unconfirmed: true } });
    await page.reload();
    const row = page.locator('[aria-label="Audit log"] [role=row]', { hasText: 'not confirmed' });
    await row.waitFor();
    expect(await row.count()).toBe(1);
    if (SHOTS !== undefined) await row.screenshot({ path: join(SHOTS, 'unconfirmed.png') });
  });
});
