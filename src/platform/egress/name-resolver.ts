import { promises as dns, type LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import { createHostsFile } from './hosts-file.js';
import { createTurnsByKey } from '../turns.js';

/** Two tries, all name servers asked in each, end within this time. */
const TOTAL_MS = 2_000;
const TRIES = 2;
/** As many as the system's own resolver uses. */
const MAX_NAMESERVERS = 3;
/** How long the second family of addresses is waited for when the first is known. */
const OTHER_FAMILY_MS = 250;
const IN_FLIGHT_PER_ACCOUNT = 10;
/** How long a name that does not exist is not asked for again, and how many such names are remembered. */
const ABSENT_MS = 5_000;
const MAX_ABSENT = 1_000;

const LOOPBACK: LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

/** The name does not exist or has no address (ENOTFOUND), or no name server told in time (EAI_AGAIN). */
export class NameError extends Error {
  override readonly name = 'NameError';
  constructor(readonly code: 'ENOTFOUND' | 'EAI_AGAIN') {
    super(code === 'ENOTFOUND' ? 'The name has no address.' : 'The name could not be resolved.');
  }
}

/**
 * All addresses of a name, IPv4 first. Takes 2 s at most once it has a turn.
 * @param p.accountId who named it: an account has 10 names in flight, and its other ones wait behind those
 * @throws NameError; the signal's reason when it is aborted
 */
export type ResolveName = (name: string, p: { accountId: string; signal: AbortSignal }) => Promise<LookupAddress[]>;

type FamilyAnswer = LookupAddress[] | 'failed';

/**
 * Resolves names that customers give: by the hosts file, then by the name servers themselves (c-ares). `dns.lookup`
 * has no deadline and shares a few threads with all other parts of the process. Names are taken as they are: no search
 * domain is appended, and an answer is used once, because a stored one could be judged at one time and used at another.
 * @param deps.nameservers `<ip>` or `<ip>:<port>`; the system's when empty
 */
export function createNameResolver(deps: { nameservers?: readonly string[]; hostsFile?: string }): ResolveName {
  const { nameservers = [] } = deps;
  const hosts = createHostsFile(deps.hostsFile);
  const turns = createTurnsByKey({ atOnce: IN_FLIGHT_PER_ACCOUNT });
  const absent = createAbsentNames();

  return async (given, { accountId, signal }) => {
    const name = given.toLowerCase().replace(/\.$/, '');
    const family = isIP(name);
    if (family !== 0) return [{ address: name, family }];
    const known = hosts(name);
    if (known.length > 0) return known;
    if (name === 'localhost' || name.endsWith('.localhost')) return LOOPBACK;
    if (absent.has(name)) throw new NameError('ENOTFOUND');
    return turns.run(accountId, { until: signal }, async () => {
      // Another one may have asked while this one waited.
      if (absent.has(name)) throw new NameError('ENOTFOUND');
      const addresses = await ask(name, nameservers, signal);
      if (addresses === 'failed') throw new NameError('EAI_AGAIN');
      if (addresses.length > 0) return addresses;
      absent.add(name);
      throw new NameError('ENOTFOUND');
    });
  };
}

/** Names known not to exist, each for five seconds. */
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

/** Asks for both families at once. Each lookup has channels of its own, so that no other one slows it down. */
async function ask(name: string, nameservers: readonly string[], signal: AbortSignal): Promise<FamilyAnswer> {
  // A new resolver knows the system's name servers of now, not those from when the process started.
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
 * The first conclusive answer. The next server, or the same one again, is asked when the one before failed or took its
 * share of the time; an answer that comes late is still taken.
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
    return addresses.map((address) => ({ address, family }));
  } catch (error) {
    const { code } = error as { code?: unknown };
    // A name that cannot be asked for does not exist either.
    return code === 'ENOTFOUND' || code === 'ENODATA' || code === 'EBADNAME' ? [] : 'failed';
  }
}
