import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Browser, type Page } from 'playwright-core';
import { openDatabase, type Database } from '../../src/database.js';
import type { Runtime } from '../../src/dev/runtime-file.js';
import type { Delivery } from '../../src/dev/webhook-inbox.js';
import { createSynthesizer } from '../../src/voice/audio/flite.js';
import { decodeMulaw } from '../../src/voice/audio/mulaw.js';
import { pcmBytes, wavHeader } from '../../src/voice/audio/wav.js';
import { LINE_BROKE } from '../../src/voice/engines/offline/phrases.js';
import { mediaProcessOf, waitFor } from '../support/carried-call.js';
import { launch, type Launched } from '../support/dev-stack.js';
import { BROWSER, expectAccessiblePage } from '../support/portal-page.js';
import { silence } from '../support/spoken.js';

jest.setTimeout(300_000);

/** Words for the browser's microphone, which hears them again and again, with silence before and after. */
const ANSWER = 'Yes.';
const SILENCE_MS = { before: 15_000, after: 4_000 };

/** Writes a recording for Chromium's fake microphone. */
async function writeMicrophone(folder: string): Promise<string> {
  const synthesizer = createSynthesizer();
  const spoken = await synthesizer.speak(ANSWER, 'rms');
  await synthesizer.close();
  const pcm = decodeMulaw(Buffer.concat([silence(SILENCE_MS.before), spoken, silence(SILENCE_MS.after)]));
  const data = pcmBytes(pcm);
  const path = join(folder, 'microphone.wav');
  await writeFile(path, Buffer.concat([wavHeader({ sampleRate: 8_000, channels: 1, dataBytes: data.length }), data]));
  return path;
}

(BROWSER === undefined ? describe.skip : describe)('a talk in the browser', () => {
  let stack: Launched;
  let runtime: Runtime;
  let database: Database;
  let browser: Browser;
  let folder: string;
  let agentUrl = '';
  const faults: string[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'callwright-talk-'));
    stack = await launch({ env: { LOG_LEVEL: 'info' } });
    runtime = await stack.runtime();
    database = await openDatabase(runtime.mongodb_uri);
    const microphone = await writeMicrophone(folder);
    browser = await chromium.launch({
      executablePath: BROWSER ?? '',
      args: ['--no-sandbox', '--use-fake-device-for-media-stream', `--use-file-for-fake-audio-capture=${microphone}`],
    });
  });
  afterAll(async () => {
    await browser?.close();
    await database?.close();
    await stack?.destroy();
    await rm(folder, { recursive: true, force: true });
  });
  afterEach(() => expect(faults).toEqual([]));

  async function newPage(permissions: string[]): Promise<Page> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, permissions });
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    page.on('pageerror', (error) => faults.push(error.message));
    page.on('console', (message) => {
      const isExpected = /^(Failed to load resource|WebSocket connection)/.test(message.text());
      if (message.type() === 'error' && !isExpected) faults.push(message.text());
    });
    return page;
  }

  async function signUp(page: Page): Promise<void> {
    await page.goto(`${runtime.portal_url}/sign-up`);
    const person = { email: 'ada@example.com', account_name: 'Acme', name: 'Ada', password: 'correct horse battery' };
    for (const [name, value] of Object.entries(person)) await page.fill(`[name=${name}]`, value);
    await page.click('button[type=submit]');
    await page.waitForSelector('nav[aria-label=Pages]');
  }

  const latestCall = () => database.calls.findOne({ toPhoneNumber: 'web' }).sort({ createdAt: -1 }).lean();

  async function endedCall(callId: string) {
    return waitFor('the webhook', async () => {
      const deliveries = (await (await fetch(runtime.webhook_inbox_url)).json()) as Delivery[];
      const own = deliveries.filter(({ body }) => (body as { call_id?: unknown }).call_id === callId);
      return own.length === 0 ? undefined : own;
    });
  }

  it('is heard, answered and finished, although its media process is killed', async () => {
    const page = await newPage(['microphone']);
    await signUp(page);
    await page.goto(`${runtime.portal_url}/test/agents/new`);
    await page.fill('[name=name]', 'Front desk');
    await page.fill('[name=instruction]', 'Hello from Acme. Ask whether the appointment suits.');
    await page.click('button:has-text("Create agent")');
    await page.waitForURL(/agents\/agent_/);
    agentUrl = page.url();
    await database.agents.updateOne(
      { name: 'Front desk' },
      { $set: { outputParameters: '{"appointment_suits":false}', webhookUrl: runtime.webhook_inbox_url } },
    );
    await page.reload();
    await page.click('button:has-text("Start talking")');
    await page.waitForSelector('[role=status]:has-text("Connected.")');
    await page.waitForSelector('.talk .agent:has-text("Hello from Acme")');
    const { _id: callId } = await waitFor('the call', latestCall);
    await expectAccessiblePage(page, 'talk');

    process.kill(await mediaProcessOf(stack, callId), 'SIGKILL');
    await page.waitForSelector('[role=status]:has-text("The connection was lost")');
    await page.waitForSelector('[role=status]:has-text("Connected.")');
    await page.waitForSelector(`.talk .agent:has-text("${LINE_BROKE.slice(0, 20)}")`);
    await page.waitForSelector('.talk .caller:has-text("yes")', { timeout: 120_000 });
    await page.waitForSelector('[role=status]:has-text("The call has ended.")', { timeout: 120_000 });

    const deliveries = await endedCall(callId);
    expect(deliveries).toHaveLength(1);
    expect(deliveries[0]?.body).toMatchObject({
      status: 'COMPLETED',
      call_direction: 'inbound',
      from_phone_number: 'web:Ada',
      to_phone_number: 'web',
    });
    const result = await database.conversationResults.findById(callId).lean();
    expect(JSON.parse(result?.outputParameters ?? '')).toEqual({ appointment_suits: true });
    await page.click('a:has-text("View call")');
    await page.waitForSelector('audio');
    await page.context().close();
  });

  it('continues by typing without a microphone, and ends when the page is closed', async () => {
    const page = await newPage([]);
    await page.goto(`${runtime.portal_url}/log-in`);
    await page.fill('[name=email]', 'ada@example.com');
    await page.fill('[name=password]', 'correct horse battery');
    await page.click('button[type=submit]');
    await page.waitForSelector('nav[aria-label=Pages]');
    await page.goto(agentUrl);
    await page.click('button:has-text("Start talking")');
    await page.waitForSelector('text=may not use the microphone');
    await page.waitForSelector('.talk .agent:has-text("Hello from Acme")');
    await expectAccessiblePage(page, 'talk-typed');
    await page.fill('[aria-label="Your words"]', 'I have a question first');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.talk .caller:has-text("I have a question first")');
    const { _id: callId } = await waitFor('the call', latestCall);
    await page.close({ runBeforeUnload: false });
    const [delivery] = await endedCall(callId);
    expect(delivery?.body).toMatchObject({ status: 'COMPLETED' });
    expect(await database.calls.findById(callId).lean()).toMatchObject({ endReason: 'caller_hangup' });
  });
});
