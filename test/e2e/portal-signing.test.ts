import type { Page } from 'playwright-core';
import { BROWSER, expectAccessiblePage, signUp } from '../support/portal-page.js';
import { startPortal, type PortalService } from '../support/portal-service.js';

jest.setTimeout(180_000);

(BROWSER === undefined ? describe.skip : describe)('the signing of webhooks in the portal', () => {
  let portal: PortalService;
  let page: Page;

  beforeAll(async () => {
    portal = await startPortal();
    ({ page } = portal);
  });
  afterAll(() => portal?.close());
  afterEach(() => expect(portal.faults).toEqual([]));

  const secrets = async () => (await page.content()).match(/whsec_[A-Za-z0-9+/]{43}=/g) ?? [];

  it('shows the secrets of webhooks and of tools when it is turned on, and never again', async () => {
    await signUp(page, portal.url);
    await page.goto(`${portal.url}/webhooks`);
    await page.click('button:has-text("Turn signing on")');
    await page.waitForSelector('button:has-text("Rotate secret")');
    await page.waitForSelector('text=Requests of tools are signed with other secrets');
    expect(new Set(await secrets()).size).toBe(3);
    await expectAccessiblePage(page, 'webhook-signing-secrets');
    await page.reload();
    await page.waitForSelector('button:has-text("Turn signing off")');
    expect(await secrets()).toEqual([]);
    await page.click('button:has-text("Turn signing off")');
    await page.waitForSelector('button:has-text("Turn signing on")');
  });
});
