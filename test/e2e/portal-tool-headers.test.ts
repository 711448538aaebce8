import type { Page } from 'playwright-core';
import { createSecretBox } from '../../src/platform/secrets/secret-box.js';
import { openToolHeaders } from '../../src/agents/tool-headers.js';
import { BROWSER, expectAccessiblePage, signUp, SAVED } from '../support/portal-page.js';
import { startPortal, type PortalService } from '../support/portal-service.js';

jest.setTimeout(180_000);

(BROWSER === undefined ? describe.skip : describe)('the secret headers of a tool in the portal', () => {
  let portal: PortalService;
  let service: PortalService['service'];
  let page: Page;

  beforeAll(async () => {
    portal = await startPortal();
    ({ service, page } = portal);
  });
  afterAll(() => portal?.close());
  afterEach(() => expect(portal.faults).toEqual([]));

  const expectAccessible = (name: string) => expectAccessiblePage(page, name);

  /** Returns the headers that the agent's tool sends. */
  async function sentBy(mode: 'live' | 'test'): Promise<Record<string, string>> {
    const agent = await service.database.agents.findOne({ mode }).lean();
    const [tool] = agent?.tools ?? [];
    if (agent === null || tool === undefined) throw new Error('There is no such agent with a tool.');
    return openToolHeaders(tool, agent.accountId, createSecretBox(service.config.encryptionKeys));
  }

  const save = async () => {
    await page.click('button:has-text("Save")');
    await page.waitForSelector(SAVED);
  };

  it('are added to a new tool, also with Enter, and later shown without their values', async () => {
    await signUp(page, portal.url);
    await page.goto(`${portal.url}/agents/new`);
    await page.fill('[name=name]', 'Orders');
    await page.fill('[name=instruction]', 'Hello, this is about your order.');
    await page.click('text=Add tool');
    await page.fill('[name="tools.0.name"]', 'look_up');
    await page.fill('[name="tools.0.description"]', 'Looks up an order.');
    await page.fill('[name="tools.0.url"]', 'https://shop.example.com/orders');
    await page.fill('[name="header name"]', 'Authorization');
    await page.press('[name="header name"]', 'Enter');
    await page.fill('[name="header Authorization"]', 'Bearer one');
    await page.fill('[name="header name"]', 'X-Shop');
    await page.click('button:has-text("Add header")');
    await page.click('button:has-text("Create agent")');
    await page.waitForSelector('.field-error:has-text("the value of the header X-Shop must have")');
    await expectAccessible('tool-headers-refused');
    await page.fill('[name="header X-Shop"]', '7');
    await page.click('button:has-text("Create agent")');
    await page.waitForURL(/agents\/agent_/);
    // The page stays when the agent is created, and with it the expanded tool.
    await page.waitForSelector('.template-row:has-text("Authorization is set")');
    await expectAccessible('tool-headers-set');
    expect(await page.content()).not.toContain('Bearer one');
    expect(await sentBy('test')).toEqual({ Authorization: 'Bearer one', 'X-Shop': '7' });
  });

  it('are kept, replaced and removed, and do not appear in the page after saving', async () => {
    await page.click('button:has-text("Replace Authorization")');
    await page.fill('[name="header Authorization"]', 'Bearer two');
    await page.click('button:has-text("Remove X-Shop")');
    await page.fill('[name="header name"]', 'X-Team');
    await page.click('button:has-text("Add header")');
    await page.fill('[name="header X-Team"]', 'blue');
    await expectAccessible('tool-headers-changed');
    await save();
    await page.waitForSelector('.template-row:has-text("X-Team is set")');
    expect(await page.locator('input[type=password]').count()).toBe(0);
    expect(await page.locator('.template-row:has-text("X-Shop")').count()).toBe(0);
    expect(await sentBy('test')).toEqual({ Authorization: 'Bearer two', 'X-Team': 'blue' });
    await save();
    expect(await sentBy('test')).toEqual({ Authorization: 'Bearer two', 'X-Team': 'blue' });
    // Header names are case-insensitive, so this name means the stored header.
    await page.fill('[name="header name"]', 'authorization');
    await page.click('button:has-text("Add header")');
    await page.click('button:has-text("Keep Authorization as it is")');
    await save();
    expect(await sentBy('test')).toEqual({ Authorization: 'Bearer two', 'X-Team': 'blue' });
  });

  it('must be entered again if the tool is renamed', async () => {
    await page.fill('[name="tools.0.name"]', 'find_order');
    await page.waitForSelector('[name="header Authorization"]');
    await page.click('button:has-text("Leave out X-Team")');
    await page.click('button:has-text("Save")');
    await page.waitForSelector('.field-error:has-text("the value of the header Authorization must have")');
    expect(await sentBy('test')).toEqual({ Authorization: 'Bearer two', 'X-Team': 'blue' });
    await page.fill('[name="header Authorization"]', 'Bearer three');
    await save();
    expect(await sentBy('test')).toEqual({ Authorization: 'Bearer three' });
  });

  it('must be entered for a live copy, which omits headers without a value', async () => {
    await page.fill('[name="header name"]', 'X-Team');
    await page.press('[name="header name"]', 'Enter');
    await page.fill('[name="header X-Team"]', 'blue');
    await save();
    await page.reload();
    await page.click('button:has-text("Copy to live mode")');
    await page.waitForSelector('dialog[open] :text("cannot be copied")');
    await expectAccessible('live-copy');
    await page.fill('[name="copy find_order Authorization"]', 'Bearer live');
    await page.click('dialog button:has-text("Copy to live mode")');
    await page.waitForSelector('button:has-text("Place call")');
    expect(await sentBy('live')).toEqual({ Authorization: 'Bearer live' });
    expect(await sentBy('test')).toEqual({ Authorization: 'Bearer three', 'X-Team': 'blue' });
  });
});
