import fc from 'fast-check';
import { createCredentialCache, type ReadTicket } from '../../src/identity/credentials/credential-cache.js';

const PROCESSES = 2;
const FRESH_MS = 1_000;

/** A value that grows with each change, and the epoch that each change sets after it. */
interface Store {
  version: number;
  epoch: string | null;
}

/** A request to the database that has been sent: when it is served, and when its response arrives. */
interface Pending {
  serve: () => void;
  deliver: () => void;
  /** The response never arrives. */
  lose: () => void;
  isServed: boolean;
}

interface Change {
  version: number;
  /** When the writer knew that the change and its epoch were both stored. */
  completedAt: number;
  by: number;
}

/**
 * Simulates processes with one database. Polls, reads and changes are served at any time after they were sent, and
 * their responses arrive at any time after that, in any order.
 */
function createWorld() {
  let time = 0;
  let epochs = 0;
  const store: Store = { version: 0, epoch: null };
  const pending: Pending[] = [];
  const changes: Change[] = [];
  let hits = 0;

  function send<R>(serve: () => R, deliver: (result: R) => void, fail: () => void = () => undefined): void {
    let result: R;
    const one: Pending = {
      lose: () => {
        pending.splice(pending.indexOf(one), 1);
        fail();
      },
      isServed: false,
      serve: () => {
        result = serve();
        one.isServed = true;
      },
      deliver: () => {
        pending.splice(pending.indexOf(one), 1);
        deliver(result);
      },
    };
    pending.push(one);
  }

  const caches = Array.from({ length: PROCESSES }, () =>
    createCredentialCache<number>({
      now: () => time,
      readEpoch: () =>
        new Promise((resolve, reject) => {
          send(
            () => store.epoch,
            resolve,
            () => reject(new Error('lost')),
          );
        }),
    }),
  );

  /** An entry that was found includes all changes that must apply by now. */
  function assertCurrent(process: number, version: number): void {
    for (const { version: changed, completedAt, by } of changes) {
      const mustApply = by === process || time - completedAt >= FRESH_MS;
      if (mustApply && version < changed) {
        throw new Error(
          `process ${process} used version ${version} at ${time}, after change ${changed} at ${completedAt}`,
        );
      }
    }
  }

  const request = (process: number) => {
    const cache = caches[process]!;
    const version = cache.find('key');
    if (version !== undefined) {
      hits += 1;
      assertCurrent(process, version);
      return;
    }
    const ticket: ReadTicket = cache.beginRead();
    send(
      () => store.version,
      (read) => cache.add('key', ticket, read),
    );
  };

  const change = (process: number) => {
    send(
      () => ++store.version,
      (version) => {
        caches[process]!.dropAll();
        send(
          () => void (store.epoch = `epoch ${++epochs}`),
          () => void changes.push({ version, completedAt: time, by: process }),
        );
      },
    );
  };

  return {
    async step(action: Action): Promise<void> {
      const at = pending[action.pick % Math.max(1, pending.length)];
      if (action.kind === 'wait') time += action.ms;
      else if (action.kind === 'request') request(action.pick % PROCESSES);
      else if (action.kind === 'change') change(action.pick % PROCESSES);
      else if (action.kind === 'serve' && at && !at.isServed) at.serve();
      else if (action.kind === 'deliver' && at?.isServed) at.deliver();
      else if (action.kind === 'lose') at?.lose();
      else if (action.kind === 'settle') {
        for (let one = pending[0]; one !== undefined; one = pending[0]) {
          if (!one.isServed) one.serve();
          one.deliver();
        }
      }
      // Promises of polls settle before the next step.
      for (let n = 0; n < 4; n++) await Promise.resolve();
    },
    hits: () => hits,
  };
}

interface Action {
  kind: 'wait' | 'request' | 'change' | 'serve' | 'deliver' | 'lose' | 'settle';
  pick: number;
  ms: number;
}

const action: fc.Arbitrary<Action> = fc.record({
  kind: fc.oneof(
    { weight: 3, arbitrary: fc.constant('wait' as const) },
    { weight: 6, arbitrary: fc.constant('request' as const) },
    { weight: 1, arbitrary: fc.constant('change' as const) },
    { weight: 7, arbitrary: fc.constant('serve' as const) },
    { weight: 7, arbitrary: fc.constant('deliver' as const) },
    { weight: 1, arbitrary: fc.constant('lose' as const) },
    { weight: 3, arbitrary: fc.constant('settle' as const) },
  ),
  pick: fc.nat(1_000),
  ms: fc.constantFrom(1, 50, 200, 399, 400, 600, 1_000),
});

describe('cached credentials', () => {
  it('include every change of the own process, and every change of others that is a second old', async () => {
    let hits = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 20, maxLength: 150 }), async (actions) => {
        const world = createWorld();
        for (const one of actions) await world.step(one);
        hits += world.hits();
      }),
      { numRuns: 3_000 },
    );
    // Without hits, the property would say nothing.
    expect(hits).toBeGreaterThan(1_000);
  }, 120_000);
});
