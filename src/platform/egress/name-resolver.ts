import { promises as dns, type LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import { createHostsFile } from './hosts-file.js';
import { createFairQueues } from '../fair-queue.js';

/** Total time for two tries. Each try asks all name servers. */
const TOTAL_MS = 2_000;
const TRIES = 2;
/** Maximum name servers, the same number that the system resolver uses. */
const MAX_NAMESERVERS = 3;
/** How long to wait for the addresses of the other family when one family has been found. */
const OTHER_FAMILY_MS = 250;
const IN_FLIGHT_PER_ACCOUNT = 10;
/**
 * Addresses of each family that are used. A connection tries one after the other, and a name server can return 4,000.
 */
const MAX_ADDRESSES = 8;
/** How long the process caches that a name does not exist, and for how many names at most. */
const ABSENT_MS = 5_000;
const MAX_ABSENT = 1_000;

const LOOPBACK: LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

/** The name does not exist or has no address (ENOTFOUND), or no name server answered in time (EAI_AGAIN). */
export class NameError extends Error {
  override readonly name = 'NameError';
  constructor(readonly code: 'ENOTFOUND' | 'EAI_AGAIN') {
    super(code === 'ENOTFOUND' ? 'The host name has no address.' : 'The host name could not be resolved.');
  }
}

/**
 * Returns the addresses of a name, at most eight of each family, IPv4 first, within 2 s after the lookup starts.
 * @param p.accountId account that gave the name; at most 10 of its lookups run at once, and further ones wait
 * @throws NameError; the signal's reason if it is aborted
 */
export type ResolveName = (name: string, p: { accountId: string; signal: AbortSignal }) => Promise<LookupAddress[]>;

type FamilyAnswer = LookupAddress[] | 'failed';

/**
 * Resolves names that customers give, by the hosts file and then by the name servers directly (c-ares), because
 * `dns.lookup` has no timeout and shares a few threads with the rest of the process. No search domain is appended.
 * Addresses are not cached, because a cached one could be checked at one time and used at another.
 * @param deps.nameservers `<ip>` or `<ip>:<port>`; the system's if empty
 */
export function createNameResolver(deps: { nameservers?: readonly string[]; hostsFile?: string }): ResolveName {
  const { nameservers = [] } = deps;
  const hosts = createHostsFile(deps.hostsFile);
  const lookups = createFairQueues({ maxRunning: IN_FLIGHT_PER_ACCOUNT });
  const absent = createAbsentNames();

  return async (given, { accountId, signal }) => {
    const name = given.toLowerCase().replace(/\.$/, '');
    const family = isIP(name);
    if (family !== 0) return [{ address: name, family }];
    const known = hosts(name);
    if (known.length > 0) return known;
    if (name === 'localhost' || name.endsWith('.localhost')) return LOOPBACK;
    if (absent.has(name)) throw new NameError('ENOTFOUND');
    return lookups.run(accountId, { signal }, async () => {
      // A concurrent lookup may have found that the name does not exist while this one waited.
      if (absent.has(name)) throw new NameError('ENOTFOUND');
      const addresses = await ask(name, nameservers, signal);
      if (addresses === 'failed') throw new NameError('EAI_AGAIN');
      if (addresses.length > 0) return addresses;
      absent.add(name);
      throw new NameError('ENOTFOUND');
    });
  };
}

/** Caches names known not to exist, each for five seconds. */
function createAbsentNames() {
  const until = new Map<string, number>();
  return {
    has: (name: string) => (until.get(name) ?? 0) > performance.now(),
    add(name: string) {
      until.delete(name);
      until.set(name, performance.now() + ABSENT_MS);
      const [oldest] = until.keys();
      if (until.size > MAX_ABSENT && oldest !== undefined) until.delete(oldest);
    },
  };
}

/** Asks for both address families at once. Each lookup has separate resolvers, so that others cannot slow it down. */
async function ask(name: string, nameservers: readonly string[], signal: AbortSignal): Promise<FamilyAnswer> {
  // A new resolver has the system's current name servers, not those from process start.
  const servers = nameservers.length > 0 ? nameservers : new dns.Resolver().getServers();
  const resolvers = servers.slice(0, MAX_NAMESERVERS).map((server) => {
    const resolver = new dns.Resolver({ timeout: TOTAL_MS, tries: 1 });
    resolver.setServers([server]);
    return resolver;
  });
  const over = new AbortController();
  const end = () => over.abort();
  const timers = [setTimeout(end, TOTAL_MS)];
  signal.addEventListener('abort', end, { once: true });
  const askFor = async (family: 4 | 6) => {
    const answer = await askFamily(name, family, resolvers, over.signal);
    if (answer !== 'failed' && answer.length > 0) timers.push(setTimeout(end, OTHER_FAMILY_MS));
    return answer;
  };
  try {
    const answers = await Promise.all([askFor(4), askFor(6)]);
    signal.throwIfAborted();
    const addresses = answers.flatMap((answer) => (answer === 'failed' ? [] : answer));
    return addresses.length === 0 && answers.includes('failed') ? 'failed' : addresses;
  } finally {
    for (const timer of timers) clearTimeout(timer);
    signal.removeEventListener('abort', end);
    for (const resolver of resolvers) resolver.cancel();
  }
}

/**
 * Returns the first conclusive answer. Asks the next server when one fails or takes more than its share of the time,
 * and later asks each server again. A late answer still counts.
 */
function askFamily(
  name: string,
  family: 4 | 6,
  resolvers: readonly dns.Resolver[],
  over: AbortSignal,
): Promise<FamilyAnswer> {
  const rounds = Array.from({ length: TRIES }, () => resolvers).flat();
  const shareMs = TOTAL_MS / (rounds.length + 1);
  return new Promise((resolve) => {
    let asked = 0;
    let failed = 0;
    let timer: NodeJS.Timeout | undefined;
    const settle = (answer: FamilyAnswer) => {
      clearTimeout(timer);
      asked = rounds.length;
      resolve(answer);
    };
    const next = () => {
      clearTimeout(timer);
      const resolver = rounds[asked];
      if (resolver === undefined) return;
      asked += 1;
      timer = setTimeout(next, shareMs);
      void query(resolver, name, family).then((answer) => {
        if (answer !== 'failed') return settle(answer);
        failed += 1;
        if (failed === rounds.length) settle('failed');
        else if (failed === asked) next();
      });
    };
    over.addEventListener('abort', () => settle('failed'), { once: true });
    next();
  });
}

async function query(resolver: dns.Resolver, name: string, family: 4 | 6): Promise<FamilyAnswer> {
  try {
    const addresses = await (family === 4 ? resolver.resolve4(name) : resolver.resolve6(name));
    return addresses.slice(0, MAX_ADDRESSES).map((address) => ({ address, family }));
  } catch (error) {
    const { code } = error as { code?: unknown };
    // A name that is invalid in DNS (EBADNAME) does not exist either.
    return code === 'ENOTFOUND' || code === 'ENODATA' || code === 'EBADNAME' ? [] : 'failed';
  }
}
