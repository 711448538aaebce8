import { randomInt } from 'node:crypto';
import { networksOf } from '../../platform/egress/client-address.js';

export const LONGEST_DELAY_MS = 5_000;
const FIRST_DELAY_MS = 250;
/** Failures of an e-mail address without a delay, because people mistype. */
const FREE_FAILURES = 5;

/**
 * Maximum attempts that wait at once. Each occupies a socket and a timer and then has its password checked, so the
 * limit per e-mail address is below the number of checks that may queue (passwords.ts).
 */
const MOST = { ofAddress: 2, ofEmail: 50, inAll: 1_000 };

interface Waiting {
  address: string;
  network: string;
  turnAway: () => void;
}

/** Delay of the next attempt for an e-mail address after this many failures, in ms. */
export function delayAfter(failures: number): number {
  if (failures < FREE_FAILURES) return 0;
  return Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (failures - FREE_FAILURES));
}

/**
 * Delays log-in attempts, up to a maximum number. Above it, an attempt of the largest group is rejected: first by
 * e-mail address, then by network. An attacker who floods an e-mail address from one network displaces only their own
 * attempts; from many networks a random one is rejected, so that the owner gets in by retrying.
 */
export function createDelays() {
  /** By e-mail address. */
  const waiting = new Map<string, Set<Waiting>>();
  let inAll = 0;

  function enter(email: string, one: Waiting): void {
    const ofEmail = waiting.get(email) ?? new Set();
    waiting.set(email, ofEmail.add(one));
    inAll++;
  }

  function leave(email: string, one: Waiting): void {
    const ofEmail = waiting.get(email);
    if (!ofEmail?.delete(one)) return;
    inAll--;
    if (ofEmail.size === 0) waiting.delete(email);
  }

  function makeRoom(email: string): void {
    const ofEmail = [...(waiting.get(email) ?? [])];
    const isFull = inAll > MOST.inAll;
    if (ofEmail.length <= MOST.ofEmail && !isFull) return;
    const crowd = isFull ? largest([...waiting.values()].map((tries) => [...tries])) : ofEmail;
    oneOf(largest(byNetwork(crowd))).turnAway();
  }

  return {
    /**
     * @param from the keys of the e-mail address and of the client, as `clientOf` names it
     * @returns true after the delay, or false if the attempt is rejected because too many wait
     */
    async wait({ email, address }: { email: string; address: string }, ms: number): Promise<boolean> {
      if (ms === 0) return true;
      const ofAddress = [...(waiting.get(email) ?? [])].filter((other) => other.address === address);
      if (ofAddress.length >= MOST.ofAddress) return false;
      return new Promise((resolve) => {
        const timer = setTimeout(() => end(true), ms);
        const one = { address, network: networksOf(address)[0] ?? address, turnAway: () => end(false) };
        function end(hasWaited: boolean): void {
          clearTimeout(timer);
          leave(email, one);
          resolve(hasWaited);
        }
        enter(email, one);
        makeRoom(email);
      });
    },
  };
}

function byNetwork(tries: Waiting[]): Waiting[][] {
  const networks = new Map<string, Waiting[]>();
  for (const one of tries) {
    const known = networks.get(one.network);
    if (known) known.push(one);
    else networks.set(one.network, [one]);
  }
  return [...networks.values()];
}

/** The largest group; a random one among equals. */
function largest(groups: Waiting[][]): Waiting[] {
  const size = Math.max(...groups.map((group) => group.length));
  return oneOf(groups.filter((group) => group.length === size));
}

function oneOf<T>(items: readonly T[]): T {
  return items[randomInt(items.length)] as T;
}
