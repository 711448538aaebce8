import { chromium, type Browser, type Page } from 'playwright-core';
import { createPorts } from '../../src/dev/processes/free-port.js';
import { startService, type Service } from '../support/http/harness.js';
import { BROWSER, expectAccessiblePage } from '../support/portal-page.js';
import { environmentWith } from '../support/settings-matrix.js';

jest.setTimeout(180_000);

(BROWSER === undefined ? describe.skip : describe)('the settings of a conversation in the portal', () => {
  const ports = createPorts(process.env);
  let service: Service;
  let browser: Browser;
  let page: Page;
  let base = '';
  const faults: string[] = [];

  beforeAll(async () => {
    const port = await ports.take();
    base = `http://127.0.0.1:${port}`;
    const env = { ...environmentWith('deepgram-flux'), PUBLIC_BASE_URL: base, API_PORT: String(port) };
    service = await startService({ worker: false, env });
    browser = await chromium.launch({ executablePath: BROWSER ?? '', args: ['--no-sandbox'] });
    page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
    page.setDefaultTimeout(30_000);
    page.on('pageerror', (error) => faults.push(error.message));
  });
  afterAll(async () => {
    await browser?.close();
    await service?.close();
    await ports.release();
  });
  afterEach(() => expect(faults).toEqual([]));

  const expectAccessible = (name: string) => expectAccessiblePage(page, name);

  const section = (title: string) => `summary:has(strong:text-is("${title}"))`;
  const stored = () => service.database.agents.findOne().lean();
  const save = async () => {
    await page.click('button:has-text("Save")');
    await page.waitForSelector('text=Saved.');
  };

  it('are collapsed, and entered for a new agent; a section with a rejected one opens', async () => {
    await page.goto(`${base}/portal/sign-up`);
    const person = { email: 'ada@example.com', account_name: 'Acme', name: 'Ada', password: 'correct horse battery' };
    for (const [name, value] of Object.entries(person)) await page.fill(`[name=${name}]`, value);
    await page.click('button[type=submit]');
    await page.waitForSelector('nav[aria-label=Pages]');
    await page.goto(`${base}/portal/agents/new`);
    await page.fill('[name=name]', 'Front desk');
    await page.fill('[name=instruction]', 'Greet the caller.');
    await page.selectOption('[name=engine]', 'pipeline');
    expect(await page.isVisible('[name=temperature]')).toBe(false);
    await expectAccessible('conversation-collapsed');
    for (const title of ['Conversation', 'Speech', 'Listening']) await page.click(section(title));
    await page.fill('[name=first_message]', 'Hello {{customer}}.');
    await page.selectOption('[name=first_speaker]', 'caller');
    await page.fill('[name=temperature]', '0.7');
    await page.fill('[name=speech_speed]', '1.5');
    await page.click('text=Add word');
    await page.fill('[name=pronunciations_0_text]', 'Nginx');
    await page.fill('[name=pronunciations_0_spoken]', 'engine X');
    await page.fill('[name=keyterms]', 'Callwright\n\n Dr. Nguyen \n');
    await page.uncheck('[name=resume_after_noise]');
    await page.click(section('Speech'));
    await page.click('button:has-text("Create agent")');
    await page.waitForSelector('.field-error:has-text("Pipeline with elevenlabs accepts only 0.7 to 1.2")');
    expect(await page.isVisible('[name=speech_speed]')).toBe(true);
    await expectAccessible('conversation-rejected');
    await page.fill('[name=speech_speed]', '1.1');
    await page.click('button:has-text("Create agent")');
    await page.waitForURL(/agents\/agent_/);
    expect(await stored()).toMatchObject({
      engine: 'pipeline',
      firstMessage: 'Hello {{customer}}.',
      firstSpeaker: 'caller',
      temperature: 0.7,
      speechSpeed: 1.1,
      pronunciations: [{ text: 'Nginx', spoken: 'engine X' }],
      keyterms: ['Callwright', 'Dr. Nguyen'],
      resumeAfterNoise: false,
    });
    expect(await stored()).not.toHaveProperty('model');
  });

  it('are shown as they are stored, and removed when they are emptied', async () => {
    await page.reload();
    await page.waitForSelector(`${section('Conversation')}:has-text("3 changed")`);
    await page.waitForSelector(`${section('Speech')}:has-text("2 changed")`);
    await page.waitForSelector(`${section('Listening')}:has-text("2 changed")`);
    for (const title of ['Conversation', 'Speech', 'Listening']) await page.click(section(title));
    expect(await page.inputValue('[name=keyterms]')).toBe('Callwright\nDr. Nguyen');
    expect(await page.inputValue('[name=temperature]')).toBe('0.7');
    await page.fill('[name=temperature]', '');
    await page.selectOption('[name=first_speaker]', '');
    await page.fill('[name=first_message]', '');
    await page.fill('[name=keyterms]', '');
    await page.check('[name=resume_after_noise]');
    await page.click('button:has-text("Remove word 1"), [aria-label="Remove word 1"]');
    await save();
    expect(await stored()).toMatchObject({ speechSpeed: 1.1 });
    for (const gone of [
      'temperature',
      'firstSpeaker',
      'firstMessage',
      'keyterms',
      'resumeAfterNoise',
      'pronunciations',
    ]) {
      expect(await stored()).not.toHaveProperty(gone);
    }
    await expectAccessible('conversation-open');
  });
});
