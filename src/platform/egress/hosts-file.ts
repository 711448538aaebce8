import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import type { LookupAddress } from 'node:dns';

const MAX_BYTES = 1_048_576;

/**
 * Creates a lookup of names in the machine's hosts file. The file is read again after it changes. The read is
 * synchronous, because asynchronous file access shares the thread pool with `dns.lookup` calls elsewhere in the
 * process.
 * @returns a function from a name in lower case to its addresses; none if the file or the name does not exist
 */
export function createHostsFile(path = '/etc/hosts'): (name: string) => LookupAddress[] {
  let version = '';
  let entries = new Map<string, LookupAddress[]>();
  return (name) => {
    const stats = statSync(path, { throwIfNoEntry: false });
    const current = stats === undefined ? 'absent' : `${stats.ino} ${stats.mtimeMs} ${stats.size}`;
    if (current !== version) {
      entries = stats === undefined || stats.size > MAX_BYTES ? new Map() : parseHosts(readFileSync(path, 'utf8'));
      version = current;
    }
    return entries.get(name) ?? [];
  };
}

function parseHosts(text: string): Map<string, LookupAddress[]> {
  const entries = new Map<string, LookupAddress[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    const family = isIP(address);
    // An address with a zone belongs to one network interface and cannot be a customer's server.
    if (family === 0 || address.includes('%')) continue;
    for (const name of names) {
      const key = name.toLowerCase().replace(/\.$/, '');
      entries.set(key, [...(entries.get(key) ?? []), { address, family }]);
    }
  }
  return entries;
}
