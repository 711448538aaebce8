import { randomInt } from 'node:crypto';
import { networksOf } from '../../platform/egress/client-address.js';

export const MAX_DELAY_MS = 5_000;
const FIRST_DELAY_MS = 250;
/** Number of failed log-ins with an e-mail address before delays begin, because people mistype. */
const FREE_FAILURES = 5;

/**
 * Maximum log-in attempts that wait at the same time. Each occupies a socket and a timer, and its password is checked
 * afterwards. So the limit per e-mail address is below the number of checks that may queue (passwords.ts).
 */
const MAX_WAITING = { ofAddress: 2, ofEmail: 50, inAll: 1_000 };

interface WaitingAttempt {
  address: string;
  network: string;
  reject: () => void;
}

/** Returns the delay in ms of the next log-in with an e-mail address after this many failed ones. */
export function delayAfter(failures: number): number {
  if (failures < FREE_FAILURES) return 0;
  return Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (failures - FREE_FAILURES));
}

/**
 * Delays log-in attempts, up to a maximum number for each e-mail address and in all. If an e-mail address has too many,
 * an attempt of the network that sent most of them is rejected. If there are too many in all, the same happens to the
 * e-mail address with the most attempts. So an attacker who sends many attempts for an e-mail address from one network
 * displaces only their own. If the attempts come from many networks, a random one is rejected, so that the owner of the
 * e-mail address can log in by retrying.
 */
export function createDelays() {
  /** The waiting attempts by e-mail address. */
  const waiting = new Map<string, Set<WaitingAttempt>>();
  let inAll = 0;

  function enter(email: string, one: WaitingAttempt): void {
    const ofEmail = waiting.get(email) ?? new Set();
    waiting.set(email, ofEmail.add(one));
    inAll++;
  }

  function leave(email: string, one: WaitingAttempt): void {
    const ofEmail = waiting.get(email);
    if (!ofEmail?.delete(one)) return;
    inAll--;
    if (ofEmail.size === 0) waiting.delete(email);
  }

  function makeRoom(email: string): void {
    const ofEmail = [...(waiting.get(email) ?? [])];
    const isFull = inAll > MAX_WAITING.inAll;
    if (ofEmail.length <= MAX_WAITING.ofEmail && !isFull) return;
    const crowd = isFull ? largest([...waiting.values()].map((tries) => [...tries])) : ofEmail;
    randomOf(largest(byNetwork(crowd))).reject();
  }

  return {
    /**
     * Delays one attempt.
     * @param from identifies the e-mail address and the client, the latter as `clientOf` does
     * @returns true after the delay, or false if the attempt is rejected because too many wait
     */
    async wait({ email, address }: { email: string; address: string }, ms: number): Promise<boolean> {
      if (ms === 0) return true;
      const ofAddress = [...(waiting.get(email) ?? [])].filter((other) => other.address === address);
      if (ofAddress.length >= MAX_WAITING.ofAddress) return false;
      return new Promise((resolve) => {
        const timer = setTimeout(() => end(true), ms);
        const one = { address, network: networksOf(address)[0] ?? address, reject: () => end(false) };
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

function byNetwork(tries: WaitingAttempt[]): WaitingAttempt[][] {
  const networks = new Map<string, WaitingAttempt[]>();
  for (const one of tries) {
    const known = networks.get(one.network);
    if (known) known.push(one);
    else networks.set(one.network, [one]);
  }
  return [...networks.values()];
}

/** Returns the largest group. Of several groups with the same size, returns a random one. */
function largest(groups: WaitingAttempt[][]): WaitingAttempt[] {
  const size = Math.max(...groups.map((group) => group.length));
  return randomOf(groups.filter((group) => group.length === size));
}

function randomOf<T>(items: readonly T[]): T {
  return items[randomInt(items.length)] as T;
}
