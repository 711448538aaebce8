import type { Page } from 'playwright-core';
import { BROWSER, expectAccessiblePage, signUp, SAVED } from '../support/portal-page.js';
import { startPortal, type PortalService } from '../support/portal-service.js';
import { environmentWith } from '../support/settings-matrix.js';

jest.setTimeout(180_000);

(BROWSER === undefined ? describe.skip : describe)('the settings of a conversation in the portal', () => {
  let portal: PortalService;
  let service: PortalService['service'];
  let page: Page;

  beforeAll(async () => {
    portal = await startPortal({ env: environmentWith('deepgram-flux') });
    ({ service, page } = portal);
  });
  afterAll(() => portal?.close());
  afterEach(() => expect(portal.faults).toEqual([]));

  const expectAccessible = (name: string) => expectAccessiblePage(page, name);

  const section = (title: string) => `summary:has(strong:text-is("${title}"))`;
  const stored = () => service.database.agents.findOne().lean();
  const save = async () => {
    await page.click('button:has-text("Save")');
    await page.waitForSelector(SAVED);
  };

  it('are collapsed, and entered for a new agent; a section with a rejected one opens', async () => {
    await signUp(page, portal.url);
    await page.goto(`${portal.url}/agents/new`);
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

  it('are saved with a warning beside the button if the provider cannot be asked about a voice', async () => {
    const warning = '.notice:has-text("Voice id: The provider could not be asked about it (failed request).")';
    await page.reload();
    await page.click(section('Speech'));
    await page.fill('[name=voice_id]', 'someVoice');
    await save();
    await page.waitForSelector(warning);
    expect(await stored()).toMatchObject({ voiceId: 'someVoice' });
    await expectAccessible('conversation-warning');
    await page.fill('[name=voice_id]', '');
    await save();
    await page.waitForSelector(warning, { state: 'detached' });
    expect(await stored()).not.toHaveProperty('voiceId');
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
