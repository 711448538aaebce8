import { HOLD_WINDOW_SECONDS } from '../../src/kernel/hold-windows.js';
import { encodeCrockford } from '../../src/kernel/ids.js';
import {
  LedgerBusyError,
  createLedgerOn,
  type HoldResult,
  type Ledger,
  type LedgerAuditStep,
} from '../../src/billing/ledger/ledger.js';
import { ServiceError } from '../../src/kernel/errors.js';
import { sessionOn, type LedgerCells } from '../support/store/memory-ledger-storage.js';
import { DEFAULT_MICROS_PER_SECOND as SECOND } from '../../src/kernel/money.js';
import { LEDGER_ACCOUNT_ID, RATES, type CallFacts } from './facts.js';
import { createInvariants } from './invariants.js';
import { createRandom, type Random } from './random.js';
import type { Mutant } from './mutants.js';
import { Crashed, Lost, Scheduler, type SimulatedProcess } from './scheduler.js';

const PROCESSES = 3;
const MAX_STEPS = 20_000;
const MS_PER_DAY = 86_400_000;

export interface Outcome {
  violations: string[];
  steps: number;
  trace: string[];
}

/** A process together with its ledger. When the process crashes, a new one replaces it. */
interface Host {
  process: SimulatedProcess;
  ledger: Ledger;
}

/**
 * Runs one seed: a few calls with different prices on one account, whose balance is too small for all of them. Several
 * processes try each operation, although they lose messages, lag and crash. Sweeps, audits, top-ups, freezes and
 * corrections happen in between.
 */
export async function simulate(seed: number, options: { mutant?: Mutant; traced?: boolean } = {}): Promise<Outcome> {
  const random = createRandom(seed);
  const cells: LedgerCells = { accounts: new Map(), entries: new Map(), checkpoints: new Map() };
  const dailySpendCapMicros = random.chance(0.5) ? (60 + random.below(random.pick([200, 1_200]))) * SECOND : undefined;
  const facts: CallFacts = {
    rates: new Map(),
    knownWindows: new Map(),
    billedSeconds: new Map(),
    withKnownEpoch: new Set(),
  };
  const invariants = createInvariants(cells, { dailySpendCapMicros, facts });
  const scheduler = new Scheduler(random, { traced: options.traced ?? false, afterStep: invariants.checkStep });
  const settings = {
    sweepAtMarkers: random.pick([4, 8, 100]),
    stepsPerDay: random.pick([80, 300, 100_000]),
    skew: random.below(3),
    checkpointEvery: 1 + random.below(5),
    auditEntries: random.pick([1, 2, 4, 10, 5_000]),
    recountEntries: random.pick([2, 5_000]),
  };

  const startHost = (): Host => {
    const process = scheduler.startProcess();
    const { mutant } = options;
    const skewedDays = settings.skew === 0 ? 0 : random.below(settings.skew + 1);
    const storage = {
      consistently: <T>(work: (session: ReturnType<typeof sessionOn>) => Promise<T>) => {
        const session = sessionOn(cells, invariants.watch(process.execute), mutant?.update);
        return work(mutant?.session ? { ...session, ...mutant.session(session, facts) } : session);
      },
    };
    const ledger = createLedgerOn(storage, {
      pause: async () => undefined,
      now: () => (Math.floor(scheduler.step / settings.stepsPerDay) + skewedDays) * MS_PER_DAY,
      sweepAtMarkers: settings.sweepAtMarkers,
      checkpointEvery: settings.checkpointEvery,
      auditEntries: settings.auditEntries,
      recountEntries: settings.recountEntries,
    });
    return { process, ledger };
  };
  const hosts = Array.from({ length: PROCESSES }, startHost);
  let running = 0;

  /**
   * Tries an operation until a result arrives. A second attempt often runs at the same time, or still runs after the
   * result.
   */
  function operation<T>(name: string, run: (ledger: Ledger) => Promise<T>, overlap = 0.3): Promise<T> {
    return new Promise<T>((resolve) => {
      let answered = false;
      const attempt = () => {
        const index = random.below(hosts.length);
        const host = hosts[index] as Host;
        running++;
        Promise.race([run(host.ledger), host.process.crashed])
          .then(
            (answer) => {
              answered = true;
              invariants.answered(name, answer);
              resolve(answer);
            },
            (error: unknown) => {
              if (error instanceof Crashed && hosts[index] === host) hosts[index] = startHost();
              const mayPass = error instanceof Crashed || error instanceof Lost || error instanceof LedgerBusyError;
              if (!mayPass) invariants.violated(`${name}: ${String(error)}`);
              else if (!answered) attempt();
            },
          )
          .finally(() => running--);
      };
      attempt();
      while (random.chance(overlap)) attempt();
    });
  }

  const world: World = { random, facts, operation, dailySpendCapMicros, wait: (steps) => waiting(steps) };
  const timekeeper = scheduler.startProcess();
  const waiting = (steps: number) => scheduler.wait(timekeeper, steps);
  const actors = actorsOf(world, invariants);
  let left = actors.length;
  // The account must exist before the first fault.
  cells.accounts.set(LEDGER_ACCOUNT_ID, emptyAccount());
  for (const actor of actors) {
    void actor()
      .catch((error: unknown) => invariants.violated(`an actor failed: ${String(error)}`))
      .finally(() => left--);
  }
  const ended = await scheduler.run(() => left === 0 && running === 0, MAX_STEPS);
  if (!ended) invariants.violated('operations come to no end');
  else await invariants.checkEnd();
  return { violations: invariants.violations, steps: scheduler.step, trace: scheduler.trace };
}

interface World {
  random: Random;
  facts: CallFacts;
  dailySpendCapMicros: number | undefined;
  operation: <T>(name: string, run: (ledger: Ledger) => Promise<T>, overlap?: number) => Promise<T>;
  wait: (steps: number) => Promise<void>;
}

function actorsOf(world: World, invariants: ReturnType<typeof createInvariants>): (() => Promise<unknown>)[] {
  const { random, operation, wait } = world;
  const id = LEDGER_ACCOUNT_ID;
  const payments = Array.from({ length: 1 + random.below(3) }, (_, index) => ({
    ledgerAccountId: id,
    paymentId: `p${index}`,
    amountMicros: (30 + random.below(500)) * SECOND + random.below(SECOND),
  }));
  const topUps = payments.map((payment, index) => async () => {
    if (index > 0) await wait(random.below(300));
    invariants.paid(payment.amountMicros);
    await operation(`top-up ${index}`, (ledger) => ledger.topUp(payment), 0.5);
  });
  const calls = Array.from({ length: 2 + random.below(3) }, () => () => runCall(world, random));
  const sweeps = Array.from({ length: 2 + random.below(4) }, () => async () => {
    await wait(random.below(400));
    await operation('sweep', (ledger) => ledger.sweep(id), 0.1);
  });
  const audit = async () => {
    await wait(random.below(400));
    const { balanced } = await operation('audit', (ledger) => ledger.audit(id), 0);
    if (!balanced) invariants.violated('an audit during the run fails');
  };
  const newAudits = async () => {
    const isFaulty = random.chance(0.3);
    for (let rounds = 2 + random.below(4); rounds > 0; rounds -= 1) {
      await wait(random.below(150));
      if (isFaulty && random.chance(0.4)) invariants.spoilCheckpoint();
      const audit = await operation('new audit', (ledger) => checked(ledger.auditNew(id)), 0.4);
      if ((audit !== 'unfinished' && !audit.balanced) || random.chance(0.2)) {
        await operation('audit again', (ledger) => checked(ledger.auditAgain(id)), 0.2);
      }
      invariants.checkRecount(await operation('recount', (ledger) => ledger.recount(id), 0.2));
    }
  };
  const checked = async (audit: Promise<LedgerAuditStep>) => {
    invariants.checkAudit(await audit);
    return audit;
  };
  const freeze = async () => {
    if (random.chance(0.5)) return;
    await wait(random.below(120));
    await operation('freeze', (ledger) => ledger.freeze(id, 'simulated'));
    await wait(random.below(100));
    await operation('unfreeze', (ledger) => ledger.unfreeze(id));
  };
  const auditors = Array.from({ length: 1 + random.below(3) }, () => newAudits);
  return [...topUps, ...calls, ...sweeps, audit, ...auditors, freeze];
}

/** Runs a call as its workflow does, with early extensions and an end at a random time. */
async function runCall(world: World, random: Random): Promise<void> {
  const { facts, operation, wait, dailySpendCapMicros } = world;
  const callId = `call_${encodeCrockford(Uint8Array.from({ length: 16 }, () => random.below(256)))}`;
  const call = { ledgerAccountId: LEDGER_ACCOUNT_ID, callId };
  const maxDurationSeconds = random.pick([30, 100, 600, 14_400]);
  const billedSeconds = random.chance(0.3) ? 0 : random.below(random.pick([70, 300, 1_500]));
  const rate = random.pick(RATES);
  facts.rates.set(callId, rate);
  facts.billedSeconds.set(callId, billedSeconds);
  const cap = dailySpendCapMicros === undefined ? {} : { dailySpendCapMicros };
  const knownEpoch = random.chance(0.6) ? await readEpoch(world, callId) : undefined;
  const hold = async (window: number, overlap = 0.3): Promise<HoldResult> => {
    // Only the price in the first window's request counts. A later request can contain another price.
    const microsPerSecond = window > 0 && random.chance(0.2) ? random.pick(RATES) : rate;
    const request = { ...call, window, maxDurationSeconds, microsPerSecond, knownEpoch, ...cap };
    const answer = await operation(`hold ${callId} ${window}`, (ledger) => ledger.hold(request), overlap);
    if (answer.grantedSeconds > 0) {
      facts.knownWindows.set(callId, Math.max(facts.knownWindows.get(callId) ?? 0, window + 1));
    }
    return answer;
  };
  const settle = (seconds: number) => {
    // The workflow passes on the first window if it knows only that one. It may be wrong.
    const isShort = facts.knownWindows.get(callId) === 1 || random.chance(0.1);
    const firstHold = isShort
      ? { amountMicros: (HOLD_WINDOW_SECONDS[0] ?? 0) * rate, microsPerSecond: rate, last: false }
      : undefined;
    const request = { ...call, billedSeconds: seconds, knownEpoch, firstHold };
    return operation(`settle ${callId}`, (ledger) => ledger.settle(request), 0.4);
  };

  await wait(random.below(150));
  const extensions = async () => {
    for (let window = 0; window < HOLD_WINDOW_SECONDS.length; window++) {
      // Requests the next window before this one is decided. The next request must wait for that decision.
      if (random.chance(0.15) && window + 1 < HOLD_WINDOW_SECONDS.length) void hold(window + 1, 0);
      const answer = await hold(window);
      if (answer.last || random.chance(0.25)) return answer.heldSeconds;
      await wait(random.below(40));
    }
    return 0;
  };
  if (random.chance(0.4)) {
    // The call ends while some of its windows are still being requested.
    const end = async () => {
      await wait(random.below(120));
      return settle(billedSeconds);
    };
    await Promise.all([extensions(), end()]);
  } else {
    await extensions();
    await settle(billedSeconds);
  }
  if (random.chance(0.3)) await correct(world, callId, rate, random);
}

/** Reads the epoch of the account before the call is stored, as the API does. */
async function readEpoch({ facts, operation }: World, callId: string): Promise<number> {
  const { epoch } = await operation(`epoch ${callId}`, (ledger) => ledger.balanceAtEpoch(LEDGER_ACCOUNT_ID), 0);
  facts.withKnownEpoch.add(callId);
  return epoch;
}

async function correct({ operation }: World, callId: string, rate: number, random: Random): Promise<void> {
  const reason = 'simulated';
  for (const number of [1, 2]) {
    const amountMicros = (1 + random.below(20)) * rate + (random.chance(0.3) ? random.below(rate) : 0);
    const correction = { ledgerAccountId: LEDGER_ACCOUNT_ID, callId, number, amountMicros, reason };
    const answer = await operation(`correct ${callId} ${number}`, (ledger) =>
      ledger.correct(correction).catch((error: unknown) => {
        // The correction was rejected because it is more than the bill.
        if (error instanceof ServiceError && error.code === 'MISSING_PARAMS') return { amountMicros: 0 };
        throw error;
      }),
    );
    if (answer.amountMicros === 0) return;
  }
}

function emptyAccount() {
  const amounts = { availableMicros: 0, heldMicros: 0, creditedMicros: 0, billedMicros: 0 };
  return {
    _id: LEDGER_ACCOUNT_ID,
    epoch: 0,
    ...amounts,
    spendDay: 0,
    spentMicros: 0,
    markerCount: 0,
    markers: {},
  };
}
