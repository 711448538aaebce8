import axe, { type AxeResults, type Result, type RunOptions } from 'axe-core';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type Page } from 'playwright-core';

/** The browser of the tests: CHROMIUM_PATH, else one that is installed; undefined if there is none. */
export const BROWSER = [process.env['CHROMIUM_PATH'] ?? '', '/usr/bin/chromium', '/usr/bin/google-chrome'].find(
  (path) => path !== '' && existsSync(path),
);

/** The form says that it was saved. The Studio also says "Nothing is saved.", so a part of the text is not enough. */
export const SAVED = '[role=status]:text-is("Saved.")';

/** The first member of the portal tests. */
export const ADA = { email: 'ada@example.com', account_name: 'Acme', name: 'Ada', password: 'correct horse battery' };

/** Starts the browser of the tests. @param args further options of Chromium */
export function launchBrowser(args: readonly string[] = []): Promise<Browser> {
  return chromium.launch({ executablePath: BROWSER ?? '', args: ['--no-sandbox', ...args] });
}

/** Opens its own browser window, as wide as that of a desktop. */
export function newContext(browser: Browser, options: BrowserContextOptions = {}): Promise<BrowserContext> {
  return browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
}

/**
 * Opens a page, whose waits end after a time.
 * @param faults receives uncaught errors and errors of the console, such as violations of the Content Security Policy,
 *   but not failed requests, which tests provoke
 */
export async function newPage(context: BrowserContext, faults: string[], timeoutMs = 30_000): Promise<Page> {
  const page = await context.newPage();
  page.setDefaultTimeout(timeoutMs);
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('console', (message) => {
    const isExpected = /^(Failed to load resource|WebSocket connection)/.test(message.text());
    if (message.type() === 'error' && !isExpected) faults.push(message.text());
  });
  return page;
}

/** Fills in the fields of a form and sends it. */
export async function sendForm(page: Page, values: Record<string, string>): Promise<void> {
  for (const [name, value] of Object.entries(values)) await page.fill(`[name=${name}]`, value);
  await page.click('button[type=submit]');
}

/** Places a test call as a person does: if a busy service responds with 503, the button is pressed again. */
export async function placeTestCall(page: Page): Promise<void> {
  for (;;) {
    const answer = page.waitForResponse((response) => {
      const isCalls = new URL(response.url()).pathname === '/calls';
      return isCalls && response.request().method() === 'POST';
    });
    await page.click('button:has-text("Place test call")');
    if ((await answer).status() !== 503) return;
    await page.waitForTimeout(1_000);
  }
}

/** Creates an account, and waits for the portal. @param portalUrl such as `http://127.0.0.1:20000/portal` */
export async function signUp(page: Page, portalUrl: string): Promise<void> {
  await page.goto(`${portalUrl}/sign-up`);
  await sendForm(page, ADA);
  await page.waitForSelector('nav[aria-label=Pages]');
}

/** The violations of accessibility rules on a page. @param options which rules; by default all */
export async function violationsOn(page: Page, options: RunOptions = {}): Promise<Result[]> {
  // Evaluated by the browser's debugger, so the page's content security policy does not apply.
  await page.evaluate(`${axe.source};undefined`);
  const { violations } = await page.evaluate<AxeResults>(`axe.run(document, ${JSON.stringify(options)})`);
  return violations;
}

/** Asserts that all text of the page is readable: that its contrast is at least 4.5, or 3 if it is large. */
export async function expectContrast(page: Page): Promise<void> {
  const violations = await violationsOn(page, { runOnly: ['color-contrast'] });
  expect(violations.flatMap(({ nodes }) => nodes.map(({ html, any }) => `${any[0]?.message} ${html}`))).toEqual([]);
}

/**
 * Asserts that the page has no accessibility violation and no horizontal scrolling, on a phone and on a desktop. With
 * PORTAL_SCREENSHOTS, writes a picture of each to that folder.
 */
export async function expectAccessiblePage(page: Page, name: string): Promise<void> {
  const shots = process.env['PORTAL_SCREENSHOTS'];
  for (const width of [375, 1280]) {
    await page.setViewportSize({ width, height: 900 });
    const violations = await violationsOn(page);
    expect(violations.map(({ id, nodes }) => `${name}: ${id} ${nodes[0]?.html}`)).toEqual([]);
    const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth');
    expect({ name, width, overflow: Math.max(0, overflow) }).toEqual({ name, width, overflow: 0 });
    if (shots !== undefined) await page.screenshot({ path: join(shots, `${name}-${width}.png`), fullPage: true });
  }
}
