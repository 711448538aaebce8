import type { Carrier } from '../../../src/telephony/port.js';
import type { Customer } from '../http/harness';
import type { CarrierDouble, CarrierEntry, Part } from './double';
import type { ContractStack } from './stack';

/** One carrier under test, which exists when the stack has started. */
export interface UnderTest {
  stack: ContractStack;
  carrier: Carrier;
  double: CarrierDouble;
  customer: Customer;
  /** The customer's API key of the carrier's mode. */
  key: string;
  /** A number of the customer, which forwards calls to an agent. */
  ownNumber: string;
}

/** The functions by which the tests of a carrier are declared. */
export interface Given {
  entry: CarrierEntry;
  given: () => UnderTest;
}

/** Tests by name. */
export type Tests = Readonly<Record<string, () => Promise<void>>>;

/** Returns the tests of a part of the contract, or the reason why it does not apply to a carrier, as a test. */
export function testsOfPart({ entry }: Pick<Given, 'entry'>, part: Part, tests: Tests): Tests {
  const reason = entry.without[part];
  if (reason === undefined) return tests;
  return { [`has no tests of ${part}: ${reason}`]: async () => expect(reason).toMatch(/\.$/) };
}

/** Declares tests that run at the same time, because each of them waits for calls. */
export function itTogether(tests: Tests): void {
  const running = new Map<string, Promise<void>>();
  beforeAll(() => {
    for (const [name, run] of Object.entries(tests)) {
      const result = run();
      // The test with this name reports the failure.
      result.catch(() => undefined);
      running.set(name, result);
    }
  });
  for (const name of Object.keys(tests)) it(name, async () => running.get(name), 60_000);
}
