import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createAgents } from '../../src/agents/agents.js';
import { openDatabase, type Database } from '../../src/database.js';
import type { CallDocument } from '../../src/calls/call-model.js';
import type { WebhookAttemptDocument } from '../../src/webhooks/model.js';
import { launch, type Launched } from '../support/dev-stack.js';
import { INVARIANTS, type CarriedCall } from './invariants.js';
import { createRandom } from './random.js';

/** The number of calls, as in `FAULT_CALLS=500 FAULT_SEED=7 npm run faults`. */
const CALLS = Number(process.env.FAULT_CALLS ?? 60);
const SEED = Number(process.env.FAULT_SEED ?? Date.now() % 100_000);
const AT_ONCE = 20;
const FINAL_WITHIN_MS = 420_000;
/**
 * The launcher waits longer before each restart of a process that was killed repeatedly, so a request may have to wait
 * this long.
 */
const DECIDED_WITHIN_MS = 600_000;

/**
 * Scripts of calls; a script that is listed more often is chosen more often. Most calls are short, so that many of them
 * are at a critical step whenever a process is killed.
 */
const SCRIPTS = ['00', '00', '01', '03', '04', '06', '06', '06', '20', '31', '32'];
const VICTIMS = ['worker', 'worker', 'worker', 'media', 'media', 'api', 'mongodb'] as const;

jest.setTimeout(3_600_000);

describe(`${CALLS} calls while processes are killed at random, seed ${SEED}`, () => {
  const random = createRandom(SEED);
  let stack: Launched;
  let database: Database;
  let accountId: string;
  const placed = new Map<string, string>();
  const killed: Record<string, number> = {};

  beforeAll(async () => {
    process.stderr.write(`faults: seed ${SEED}\n`);
    stack = await launch({ env: { LOG_LEVEL: 'error' } });
    const runtime = await stack.runtime();
    database = await openDatabase(runtime.mongodb_uri);
    accountId = (await createAgents(database).find(runtime.agent_id))?.accountId ?? '';
    // If the media process and the API are killed at the same time, no process reports the end of the call. The
    // workflow then learns of the end only at the maximum duration, when it hangs up and asks the carrier.
    await database.agents.updateOne({ _id: runtime.agent_id }, { $set: { maxDurationSeconds: 120 } });
    const killing = new AbortController();
    const killer = killAtRandom(killing.signal);
    await placeAll().finally(() => killing.abort());
    await killer;
    process.stderr.write(`faults: killed ${JSON.stringify(killed)}\n`);
    await waitUntilDecided();
  }, 3_000_000);

  afterAll(async () => {
    await database?.close();
    await stack?.destroy();
  });

  async function killAtRandom(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(random.between(3_000, 10_000), undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      const role = random.pick(VICTIMS);
      const pids = (await stack.runtime()).pids[role];
      if (pids.length === 0) continue;
      const pid = random.pick(pids);
      try {
        process.kill(pid, 'SIGKILL');
        killed[role] = (killed[role] ?? 0) + 1;
      } catch {
        // The process ended a moment ago, and the launcher has not restarted it yet.
      }
    }
  }

  async function placeAll(): Promise<void> {
    const waiting = Array.from({ length: CALLS }, () => random.pick(SCRIPTS));
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (let script = waiting.pop(); script !== undefined; script = waiting.pop()) {
          placed.set(await placeUntilDecided(script), script);
          await sleep(random.between(0, 1_500));
        }
      }),
    );
  }

  /** Repeats the request with the same idempotency key until a response arrives, as a client should. */
  async function placeUntilDecided(script: string): Promise<string> {
    const key = randomUUID();
    const giveUpAt = Date.now() + DECIDED_WITHIN_MS;
    while (Date.now() < giveUpAt) {
      const { base_url, live_api_key, agent_id, webhook_inbox_url } = await stack.runtime();
      try {
        const response = await fetch(`${base_url}/outbound_call`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${live_api_key}`,
            'content-type': 'application/json',
            'idempotency-key': key,
          },
          body: JSON.stringify({ to_phone_number: `+120255501${script}`, agent_id, webhook_url: webhook_inbox_url }),
          signal: AbortSignal.timeout(10_000),
        });
        if (response.status === 200) return ((await response.json()) as { call_id: string }).call_id;
        if (response.status !== 503) {
          // Waits for the last log lines of the role, which the launcher passes on.
          await sleep(2_000);
          throw new Error(
            `unexpected answer ${response.status}: ${await response.text()}\n${errorsOf(stack.output())}`,
          );
        }
      } catch (error) {
        if (error instanceof Error && error.message.startsWith('unexpected')) throw error;
      }
      await sleep(500);
    }
    throw new Error('an order was not decided in time');
  }

  async function waitUntilDecided(): Promise<void> {
    const deadline = Date.now() + FINAL_WITHIN_MS;
    for (;;) {
      const over = await webhooksDecided();
      if (over === placed.size) return;
      if (Date.now() > deadline) {
        const left = (await describeUndecided()).join('\n');
        throw new Error(
          `${placed.size - over} of ${placed.size} calls did not come to an end:\n${left}\n${errorsOf(stack.output())}`,
        );
      }
      await sleep(1_000);
    }
  }

  async function webhooksDecided(): Promise<number> {
    return (await decidedCalls()).size;
  }

  async function decidedCalls(): Promise<Set<string>> {
    const attempts = await database.webhookAttempts.find({}).lean<WebhookAttemptDocument[]>();
    const decided = attempts.filter(({ outcome, number }) => outcome === 'delivered' || (outcome && number === 4));
    return new Set(decided.map(({ callId }) => callId));
  }

  /** Describes the calls whose webhook was neither delivered nor given up, to find the reason. */
  async function describeUndecided(): Promise<string[]> {
    const decided = await decidedCalls();
    const left = [...placed].filter(([callId]) => !decided.has(callId));
    return Promise.all(
      left.map(async ([callId, script]) => {
        const call = await database.calls.findById(callId).lean<CallDocument>();
        const attempts = await database.webhookAttempts.find({ callId }).lean<WebhookAttemptDocument[]>();
        const { status, endReason, startTime, updatedAt } = call ?? {};
        return JSON.stringify({ callId, script, status, endReason, startTime, updatedAt, attempts: attempts.length });
      }),
    );
  }

  it('kills workers', () => {
    expect(killed['worker']).toBeGreaterThan(0);
  });

  it.each(Object.entries(INVARIANTS))('%s', async (_behavior, violationsOf) => {
    const { carrier_url, temporal_address, live_api_key } = await stack.runtime();
    const listed = (await (await fetch(`${carrier_url}/simulator/calls`)).json()) as { calls: CarriedCall[] };
    const violations = await violationsOf({
      database,
      temporal: { address: temporal_address, namespace: 'default' },
      accountId,
      creditedMicros: 100_000_000,
      accepted: new Set(placed.keys()),
      carried: listed.calls,
      secrets: [live_api_key],
      logs: linesOfRoles(stack.output()),
    });
    expect(violations).toEqual([]);
  });
});

/** Returns the error lines of the roles, except those about killed processes. */
function errorsOf(output: string): string {
  const lines = linesOfRoles(output).split('\n');
  return lines
    .filter((line) => !line.includes('untracked local activity'))
    .slice(-60)
    .join('\n');
}

/** Leaves out the lines of the launcher, which prints the keys of the demo account. */
function linesOfRoles(output: string): string {
  return output
    .split('\n')
    .filter((line) => / \| /.test(line))
    .join('\n');
}
