import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { openDatabase, type Database } from '../../src/database.js';
import type { Runtime } from '../../src/dev/runtime-file.js';
import type { Delivery } from '../../src/dev/webhook-inbox.js';
import { LINE_BROKE } from '../../src/voice/engines/offline/phrases.js';
import { startFakeRealtime, type FakeRealtime } from '../integration/voice/fakes/openai-realtime.js';
import { BRIDGE, GREETING } from '../integration/voice/fakes/openai-realtime-session.js';
import {
  loudness,
  measureLoudspeaker,
  microphoneOptions,
  writeMicrophone,
  type Utterance,
} from '../support/browser-audio.js';
import { mediaProcessOf, waitFor } from '../support/carried-call.js';
import { launch, type Launched } from '../support/dev-stack.js';
import { ADA, BROWSER, launchBrowser, newContext, newPage, signUp } from '../support/portal-page.js';

jest.setTimeout(300_000);

/** Until then the media process has been killed, and another one has asked again. */
const FIRST_WORDS_MS = 22_000;

const INSTRUCTION = 'You answer for the bakery Vollkorn. Offer rye bread, and sell nothing else.';
const REPLY = 'Two loaves of rye bread are reserved.';

/** The answers of scenario 11, each after the time that the question before it takes. */
const ANSWERS: readonly Utterance[] = [
  { afterMs: FIRST_WORDS_MS, words: 'Yes.' },
  { afterMs: 9_000, words: 'Four one five two.' },
  { afterMs: 8_000, words: 'Yes, that is right.' },
  { afterMs: 8_500, words: 'Afternoon.' },
];
const FIELDS = [
  ['appointment_confirmed', 'yes-no'],
  ['confirmation_code', 'text'],
  ['preferred_time', 'choices', 'morning|afternoon|evening'],
] as const;

(BROWSER === undefined ? describe.skip : describe)('the first call of a newcomer', () => {
  let fake: FakeRealtime | undefined;
  let stack: Launched | undefined;
  let runtime: Runtime;
  let database: Database | undefined;
  let browser: Browser | undefined;
  let folder: string | undefined;
  let page: Page;
  const faults: string[] = [];

  /** Starts the service, and a browser into whose microphone somebody speaks. Signs up. */
  async function begin(utterances: readonly Utterance[], env: Record<string, string>): Promise<Database> {
    folder = await mkdtemp(join(tmpdir(), 'callwright-microphone-'));
    const microphone = join(folder, 'microphone.wav');
    await writeMicrophone(microphone, utterances);
    stack = await launch({ env: { ...env, LOG_LEVEL: 'info' } });
    runtime = await stack.runtime();
    database = await openDatabase(runtime.mongodb_uri);
    browser = await launchBrowser(microphoneOptions(microphone));
    const context = await newContext(browser, { permissions: ['microphone'] });
    await measureLoudspeaker(context);
    page = await newPage(context, faults, 60_000);
    await signUp(page, runtime.portal_url);
    // The developer of the service is its operator.
    await database.users.updateMany({ email: ADA.email }, { $set: { operator: true } });
    await database.unverifiedUsers.updateMany({ email: ADA.email }, { $set: { operator: true } });
    return database;
  }

  afterEach(async () => {
    await browser?.close();
    await database?.close();
    await stack?.destroy();
    await fake?.close();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
    [fake, stack, database, browser, folder] = [undefined, undefined, undefined, undefined, undefined];
    expect(faults).toEqual([]);
  });

  async function openStudio(name: string, instruction: string): Promise<void> {
    await page.goto(`${runtime.portal_url}/test`);
    await page.click('[aria-label="First steps"] a:has-text("Talk with an agent")');
    await page.fill('[name=name]', name);
    await page.fill('[name=instruction]', instruction);
    await page.fill('[name=webhook_url]', runtime.webhook_inbox_url);
  }

  /** Starts the call. On a busy machine, a service that has just started may ask to retry, as it asks everybody. */
  async function startTalking(): Promise<void> {
    const isConnected = page.waitForSelector('[role=status]:has-text("Connected.")');
    for (let attempt = 0; attempt < 3; attempt++) {
      await page.click('button:has-text("Start talking")');
      const retry = page.waitForSelector('[aria-label=Talk] .notice-bad:has-text("Retry shortly")').then(
        () => true,
        () => false,
      );
      if (!(await Promise.race([isConnected.then(() => false), retry]))) break;
    }
    await isConnected;
  }

  /** Talks with the draft, and kills the media process after the greeting. Returns the call's id. */
  async function talkAndKill(
    of: Database,
    p: { greeting: string; bridge: string; beforeKill?: () => void },
  ): Promise<string> {
    await startTalking();
    await page.waitForSelector('.talk .interim.agent');
    // The list has said words as buttons, and words that are being said as plain text.
    await page.waitForSelector(`.talk button.agent:has-text("${p.greeting}")`);
    const { _id: callId } = await waitFor('the call', () => of.calls.findOne({ toPhoneNumber: 'web' }).lean());
    const victim = await mediaProcessOf(stack as Launched, callId);
    p.beforeKill?.();
    await page.click('button:has-text("Kill the media process")');
    await stack?.runtime((now) => !now.pids.media.includes(victim));
    await page.waitForSelector(`.talk .agent:has-text("${p.bridge}")`);
    expect(await page.isVisible('[role=status]:has-text("Connected.")')).toBe(true);
    return callId;
  }

  /** Saves the draft, goes to the page of the call, and plays its recording from a turn. */
  async function saveAndSeek(name: string): Promise<void> {
    await page.click('button:has-text("Create agent")');
    await page.waitForSelector(`h1:has-text("${name}")`);
    // The page of the call is a new tab.
    [page] = await Promise.all([page.waitForEvent('popup'), page.click('a:has-text("View call")')]);
    page.setDefaultTimeout(60_000);
    await page.waitForSelector('[role=slider]');
    const turn = page.locator('.talk .caller').last();
    const [, minutes, seconds] = /(\d+):(\d\d)/.exec((await turn.textContent()) ?? '') ?? [];
    const startsAt = Number(minutes) * 60 + Number(seconds);
    expect(startsAt).toBeGreaterThan(10);
    await turn.click();
    // Before the browser knows the recording, `currentTime` is only where it will begin.
    const played = `(({ readyState, seeking, currentTime, seekable }) =>
      readyState < 2 || seeking ? undefined : { at: currentTime, end: seekable.end(0) }
    )(document.querySelector('audio'))`;
    const { end } = await waitFor('the recording at the last words', async () => {
      const now = await page.evaluate<{ at: number; end: number } | undefined>(played);
      return now !== undefined && now.at > startsAt - 0.6 && now.at < startsAt + 10 ? now : undefined;
    });
    expect(end).toBeGreaterThan(startsAt);
  }

  async function expectOneWebhook(callId: string, body: object): Promise<void> {
    await page.waitForSelector('section[aria-label=Webhook] :text("delivered")');
    const deliveries = (await (await fetch(runtime.webhook_inbox_url)).json()) as Delivery[];
    const own = deliveries.map((each) => each.body as { call_id?: unknown }).filter((each) => each.call_id === callId);
    expect(own).toEqual([expect.objectContaining({ status: 'COMPLETED', from_phone_number: 'web:Ada', ...body })]);
  }

  it('is understood by the offline engine, word by word, although its media process is killed', async () => {
    const of = await begin(ANSWERS, {});
    await openStudio('Front desk', 'Hello from the newcomer. Ask whether the appointment suits.');
    await page.waitForSelector('.talk-offline:has-text("does not follow")');
    for (const [index, [name, kind, choices]] of FIELDS.entries()) {
      await page.click('text=Add field');
      await page.fill(`[aria-label="Name of field ${index + 1}"]`, name);
      await page.selectOption(`[aria-label="Type of field ${index + 1}"]`, kind);
      if (choices !== undefined) await page.fill(`[aria-label="Choices of field ${index + 1}"]`, choices);
    }
    const callId = await talkAndKill(of, { greeting: 'Hello from the newcomer', bridge: LINE_BROKE.slice(0, 20) });
    for (const words of ['yes', 'four one five two', 'afternoon']) {
      await page.waitForSelector(`.talk .caller:text-matches("${words}", "i")`);
    }
    await page.waitForSelector('section[aria-label="Extracted data"]:has-text("4152")');
    await page.waitForSelector('[role=status]:has-text("The call has ended.")', { timeout: 120_000 });
    await saveAndSeek('Front desk');
    const values = { appointment_confirmed: true, confirmation_code: '4152', preferred_time: 'afternoon' };
    await expectOneWebhook(callId, { output_parameters: JSON.stringify(values) });
  });

  it('follows their own instruction with a key of OpenAI, also after the kill, and they hear the reply', async () => {
    fake = await startFakeRealtime();
    // The models of the defaults.
    fake.lists.models.push('gpt-realtime-2.1', 'gpt-transcribe', 'gpt-6-luna');
    const env = { OPENAI_API_KEY: 'test-key', OPENAI_BASE_URL: fake.baseUrl };
    const of = await begin([{ afterMs: FIRST_WORDS_MS, words: 'Two loaves, please.' }], env);
    await openStudio('Bakery', INSTRUCTION);
    await page.waitForSelector('section[aria-label=Talk]:has-text("Nothing is saved")');
    expect(await page.locator('.talk-offline').count()).toBe(0);
    const callId = await talkAndKill(of, {
      greeting: GREETING.slice(0, 40),
      bridge: BRIDGE.slice(0, 20),
      // The next session of the provider, which is the one after the kill, follows this script.
      beforeKill: () => fake?.script([{ hears: 'Two loaves, please.', says: REPLY }]),
    });
    await page.waitForSelector('.talk .caller:has-text("Two loaves, please.")');
    await page.waitForSelector(`.talk .agent:has-text("${REPLY}")`);
    await waitFor('the voice of the agent', async () => ((await loudness(page)) > 0.01 ? true : undefined));
    await page.click('button:has-text("Hang up")');
    await page.waitForSelector('[role=status]:has-text("You hung up.")');
    const talking = fake.sessions.filter(({ events }) => events.some(({ type }) => type === 'response.create'));
    expect(talking.length).toBeGreaterThan(1);
    for (const session of talking) expect(session.instructions()).toContain(INSTRUCTION);
    expect(fake.sessions.flatMap(({ errors }) => errors)).toEqual([]);
    await saveAndSeek('Bakery');
    await expectOneWebhook(callId, { summary: 'The appointment was talked about.' });
  });
});
