import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import type { LookupAddress } from 'node:dns';

const MAX_BYTES = 1_048_576;

/**
 * The addresses that the machine's own hosts file has for a name. It is read again when it was changed, and
 * synchronously: asynchronous file access would share the threads that `dns.lookup` of other parts waits for.
 * @returns a function from a name in lower case to its addresses; none when the file or the name is not there
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
    // An address with a zone belongs to one interface; no customer's server is reached by it.
    if (family === 0 || address.includes('%')) continue;
    for (const name of names) {
      const key = name.toLowerCase().replace(/\.$/, '');
      entries.set(key, [...(entries.get(key) ?? []), { address, family }]);
    }
  }
  return entries;
}
