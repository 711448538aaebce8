import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { eventually } from '../support/http/harness.js';
import { startMailServer } from '../support/mail-server.js';
import { ADA, BROWSER, sendForm, violationsOn } from '../support/portal-page.js';
import { startPortal, type PortalService } from '../support/portal-service.js';

jest.setTimeout(180_000);

const SHOTS = process.env['PORTAL_SCREENSHOTS'];

(BROWSER === undefined ? describe.skip : describe)('the portal with verified e-mail addresses', () => {
  let mail: Awaited<ReturnType<typeof startMailServer>>;
  let portal: PortalService;
  let page: Page;
  const requested: string[] = [];

  beforeAll(async () => {
    mail = await startMailServer();
    portal = await startPortal({ env: mail.env });
    page = portal.page;
    page.on('request', (request) => requested.push(`${request.url()} ${request.headers()['referer'] ?? ''}`));
  });
  afterAll(async () => {
    await portal?.close();
    await mail?.close();
  });

  async function expectAccessible(name: string): Promise<void> {
    await page.waitForSelector('h1');
    const violations = await violationsOn(page);
    expect(violations.map(({ id, nodes }) => `${name}: ${id} ${nodes.map(({ html }) => html).join(' ')}`)).toEqual([]);
    if (SHOTS !== undefined) await page.screenshot({ path: join(SHOTS, `${name}.png`) });
  }

  async function linkIn(count: number): Promise<string> {
    const { text } = await eventually(async () => mail.to(ADA.email)[count - 1]);
    return /http\S+#token=[\w-]{43}/.exec(text)?.[0] ?? '';
  }

  /**
   * Opens the verification link in a browser without the session of the sign-up. Asserts that the page asks for the
   * password and rejects a wrong one.
   */
  async function expectPasswordAsked(link: string): Promise<void> {
    const elsewhere = await (await portal.browser.newContext({ viewport: { width: 375, height: 800 } })).newPage();
    elsewhere.setDefaultTimeout(30_000);
    await elsewhere.goto(link);
    await elsewhere.fill('[name=password]', 'wrong horse battery');
    await elsewhere.click('button:has-text("Verify")');
    await elsewhere.waitForSelector('.field-error:has-text("does not match a sign-up")');
    const violations = await violationsOn(elsewhere);
    expect(violations.map(({ id }) => id)).toEqual([]);
    if (SHOTS !== undefined) await elsewhere.screenshot({ path: join(SHOTS, 'verify-email-password.png') });
    await elsewhere.context().close();
  }

  it('asks a new member to check their e-mail, and reminds them until the address is verified', async () => {
    await page.goto(`${portal.url}/sign-up`);
    await sendForm(page, ADA);
    await page.waitForSelector('h1:has-text("Check your e-mail")');
    await expectAccessible('check-email');
    await page.click('text=Continue');
    await page.waitForSelector('text=Verify your e-mail address');
    await page.waitForSelector('.skeleton', { state: 'detached' });
    await page.click('button:has-text("Send again")');
    await page.waitForSelector('text=Sent.');
    await expectAccessible('banner');
    await expectPasswordAsked(await linkIn(2));
    await page.goto(await linkIn(2));
    await page.waitForSelector('button:has-text("Verify")');
    expect(await page.locator('[name=password]').count()).toBe(0);
    expect(page.url()).toBe(`${portal.url}/verify-email`);
    await expectAccessible('verify-email');
    await page.click('button:has-text("Verify")');
    await page.waitForSelector('h1:has-text("E-mail verified")');
    await expectAccessible('email-verified');
    await page.click('text=Continue');
    await page.waitForSelector('nav[aria-label=Pages]');
    expect(await page.locator('[aria-label=Verification]').count()).toBe(0);
  });

  it('resets a password by link, with an error at the field for a weak password', async () => {
    await page.click('text=Log out');
    await page.waitForURL(/log-in/);
    await page.waitForSelector('text=Create account');
    await expectAccessible('log-in');
    await page.click('text=Forgot password?');
    await page.waitForSelector('h1:has-text("Forgot password?")');
    await page.fill('[name=email]', ADA.email);
    await expectAccessible('forgot-password');
    await page.click('button[type=submit]');
    await page.waitForSelector('h1:has-text("Check your e-mail")');
    await expectAccessible('forgot-password-sent');
    await page.goto(await linkIn(3));
    await page.fill('[name=new_password]', 'dragon123456');
    await page.click('button[type=submit]');
    await page.waitForSelector('.field-error:has-text("too common")');
    await expectAccessible('reset-password-refused');
    await page.fill('[name=new_password]', 'another horse battery');
    await page.click('button[type=submit]');
    await page.waitForSelector('h1:has-text("Password changed")');
    await expectAccessible('password-changed');
    await page.click('a:has-text("Log in")');
    await sendForm(page, { email: ADA.email, password: 'another horse battery' });
    await page.waitForSelector('nav[aria-label=Pages]');
  });

  it('keeps tokens of links out of requested URLs and referrers, and has no script errors', () => {
    expect(requested.filter((line) => line.includes('token='))).toEqual([]);
    expect(portal.faults).toEqual([]);
  });
});
