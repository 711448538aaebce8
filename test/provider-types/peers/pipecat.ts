// Pipecat's `TwilioFrameSerializer` talks with our simulated carrier: by its messages, and by the request that ends a call.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { startBench, until, type Bench } from '../../integration/telephony/support/simulator.js';

const TALK_MS = 60_000;
const LISTEN_MS = 30_000;

interface Report {
  did: 'listening' | 'started' | 'heard' | 'key' | 'ended';
  port?: number;
  key?: string;
}

/** Starts the agent in Python. It ends with its standard input. */
async function startAgent(python: string, bench: Bench) {
  const reports: Report[] = [];
  const { authToken } = bench.config.carriers.test;
  const child = spawn(python, [join(__dirname, 'pipecat-agent.py')], {
    env: { ...process.env, PEER_AUTH_TOKEN: authToken, PEER_CARRIER_URL: bench.url },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  createInterface({ input: child.stdout }).on('line', (line) => reports.push(JSON.parse(line) as Report));
  const listening = () => reports.find(({ did }) => did === 'listening');
  await until(() => listening() !== undefined || child.exitCode !== null, LISTEN_MS);
  return {
    reports,
    url: `http://127.0.0.1:${listening()?.port}/twiml`,
    async close(): Promise<void> {
      child.stdin.end();
      await exited;
    },
  };
}

/** Lets a scripted person of the carrier call the agent, and waits until the call has ended. */
async function talk(bench: Bench, url: string, script: string) {
  const { status, body } = await bench.control('/inbound', { to: '+12025550100', from: '+12025550199', url, script });
  assert.equal(status, 201);
  const call = await bench.waitForEnd((body as { sid: string }).sid, TALK_MS);
  assert.equal(call.status, 'completed');
  assert.deepEqual(call.errors, []);
  const [stream] = call.streams;
  assert.ok(stream !== undefined, 'the agent has taken the stream');
  return { steps: call.script.map(({ did }) => did), stream };
}

async function main(python: string): Promise<void> {
  const bench = await startBench();
  const agent = await startAgent(python, bench);
  try {
    const answers = await talk(bench, agent.url, ANSWERS);
    assert.equal(answers.steps.at(-1), 'finished');
    assert.ok(answers.stream.mediaReceived > 10, 'the serializer has sent audio');
    assert.ok(agent.reports.filter(({ did }) => did === 'heard').length >= 4, 'the serializer has read audio');
    console.log(`Pipecat's serializer: a conversation of ${answers.steps.length} steps`);

    const digits = await talk(bench, agent.url, DIGITS);
    assert.equal(agent.reports.flatMap(({ key = '' }) => key).join(''), '142#1');
    assert.equal(digits.stream.clears, 5);
    // The person would have finished the script, but the agent has ended the call before.
    assert.equal(digits.steps.at(-1), 'keyed');
    console.log("Pipecat's serializer: five keys, five interruptions, and the end of the call");
  } finally {
    await agent.close();
    await bench.close();
  }
}

/** The scripts of a person with four answers, and of a person with keys. */
const [ANSWERS, DIGITS] = ['11', '10'] as const;

main(process.argv[2] ?? 'python3').then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
