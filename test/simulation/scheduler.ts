import type { Execute } from '../support/store/memory-ledger-storage.js';
import type { Random } from './random.js';

/** The error that a sender gets if its request or the reply was lost. */
export class Lost extends Error {}

/** The error that ends every attempt in a process that crashes. */
export class Crashed extends Error {}

interface Request {
  process: SimulatedProcess;
  name: string;
  key: string;
  /** Executes the request and delivers the reply. */
  reply(): void;
  /** Executes the request without delivering the reply. */
  executeSilently(): void;
  lose(reason: string): void;
  /** The request is not executed before this step. */
  stalledUntil: number;
}

/** A process of the service. If the process crashes, its attempts end. */
export interface SimulatedProcess {
  id: number;
  /** Rejects when the process crashes. */
  crashed: Promise<never>;
  execute: Execute;
  crash(): void;
}

/** The number of faults per 1,000 requests. All other requests are executed and get their reply. */
const FAULTS = { notSent: 30, replyLost: 30, executedLate: 40, crash: 5 } as const;
const STALL_CHANCE = 0.03;
const LONGEST_STALL = 150;
/**
 * How often the event loop turns between two steps. Any number gives valid schedules; with a higher number, more
 * requests wait at the same time.
 */
const TURNS_PER_STEP = 5;
const MAX_IDLE_TURNS = 200;

/**
 * Executes requests one at a time in a random order. It loses requests and replies, executes writes long after the
 * sender has given up, delays some requests, and crashes processes. The same seed gives the same run.
 */
export class Scheduler {
  step = 0;
  readonly trace: string[] = [];
  private readonly requests: Request[] = [];
  private late: Request[] = [];
  private processes = 0;

  constructor(
    private readonly random: Random,
    private readonly options: { traced: boolean; afterStep(): void },
  ) {}

  startProcess(): SimulatedProcess {
    let end: (reason: Crashed) => void = () => undefined;
    const crashed = new Promise<never>((_, reject) => {
      end = reject;
    });
    crashed.catch(() => undefined);
    const process: SimulatedProcess = {
      id: ++this.processes,
      crashed,
      execute: (name, key, operation) => this.request(process, name, key, operation),
      crash: () => {
        this.dropRequestsOf(process);
        end(new Crashed());
      },
    };
    return process;
  }

  /** Waits for `steps` steps. */
  async wait(process: SimulatedProcess, steps: number): Promise<void> {
    await this.request(process, 'wait', String(steps), () => undefined, this.step + steps).catch(() => undefined);
  }

  /**
   * Takes steps until all work is done.
   * @returns false if work is left that no step can advance, or after too many steps
   */
  async run(isDone: () => boolean, maxSteps: number): Promise<boolean> {
    for (let idle = 0; ;) {
      for (let turn = 0; turn < TURNS_PER_STEP; turn++) await Promise.resolve();
      if (this.requests.length === 0) {
        if (isDone() && idle > 10) break;
        if (++idle > MAX_IDLE_TURNS) return false;
        continue;
      }
      idle = 0;
      if (++this.step > maxSteps) return false;
      this.takeStep();
      this.options.afterStep();
    }
    while (this.late.length > 0) this.executeLate();
    return true;
  }

  private request<T>(process: SimulatedProcess, name: string, key: string, operation: () => T, until = 0): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const stall = this.random.chance(STALL_CHANCE) ? this.random.below(LONGEST_STALL) : 0;
      this.requests.push({
        process,
        name,
        key,
        reply: () => resolve(operation()),
        executeSilently: operation,
        lose: (reason) => reject(new Lost(reason)),
        stalledUntil: Math.max(until, this.step + stall),
      });
    });
  }

  private takeStep(): void {
    if (this.late.length > 0 && this.random.chance(0.04)) return this.executeLate();
    const request = this.takeRequest();
    const isWrite = /^(updateAccount|insert|setFreeze|advanceCheckpoint|replaceCheckpoint|saveRecount)/.test(
      request.name,
    );
    let chance = request.name === 'wait' ? 1_000 : this.random.below(1_000);
    if ((chance -= FAULTS.notSent) < 0) {
      this.record(request, 'is not sent');
      request.lose('not sent');
    } else if ((chance -= FAULTS.replyLost) < 0) {
      this.record(request, 'loses its reply');
      request.executeSilently();
      request.lose('reply lost');
    } else if ((chance -= FAULTS.executedLate) < 0 && isWrite) {
      this.record(request, 'will be executed late');
      this.late.push(request);
      request.lose('executed late');
    } else if (chance >= 0 && (chance -= FAULTS.crash) < 0) {
      this.record(request, 'sees its process crash');
      this.requests.push(request);
      request.process.crash();
    } else {
      this.record(request, 'is executed');
      request.reply();
    }
  }

  /** Takes a random request that is not delayed. If all are delayed, takes the one with the shortest wait. */
  private takeRequest(): Request {
    for (let attempt = 0; attempt < 8; attempt++) {
      const index = this.random.below(this.requests.length);
      const request = this.requests[index];
      if (request && request.stalledUntil <= this.step) return this.remove(index);
    }
    let first = 0;
    this.requests.forEach((request, index) => {
      if (request.stalledUntil < (this.requests[first]?.stalledUntil ?? 0)) first = index;
    });
    return this.remove(first);
  }

  private remove(index: number): Request {
    const request = this.requests[index];
    const last = this.requests.pop();
    if (!request || !last) throw new Error('there is no request');
    if (request !== last) this.requests[index] = last;
    return request;
  }

  private executeLate(): void {
    const [request] = this.late.splice(this.random.below(this.late.length), 1);
    if (!request) return;
    this.record(request, 'is executed late');
    request.executeSilently();
  }

  private dropRequestsOf(process: SimulatedProcess): void {
    for (let index = this.requests.length - 1; index >= 0; index--) {
      const request = this.requests[index];
      if (request?.process !== process) continue;
      this.remove(index);
      if (request.name === 'wait') request.lose('crashed');
      else if (this.random.chance(0.5)) this.late.push(request);
    }
  }

  private record(request: Request, what: string): void {
    if (this.options.traced) {
      this.trace.push(`${this.step} process ${request.process.id}: ${request.name} ${request.key} ${what}`);
    }
  }
}
