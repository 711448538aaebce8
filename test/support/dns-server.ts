import { createSocket, type RemoteInfo } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';

/** The server's records of one name. If a field is omitted, the name has no such record. */
export interface DnsEntry {
  /** The IPv4 and IPv6 addresses of the name. */
  addresses?: string[];
  /**
   * The target of the name's CNAME record. The response contains the target's addresses too, as from a recursive
   * server.
   */
  cname?: string;
  /** The fault of the server: instead of sending records, it sends nothing, `SERVFAIL` or `REFUSED`. */
  fault?: 'silent' | 'SERVFAIL' | 'REFUSED';
  /** If true, the server never responds to AAAA queries, as happens behind some firewalls. */
  silentForIpv6?: boolean;
  /** The delay of each response, ms. */
  delayMs?: number;
}

export interface DnsServer {
  /** The server's address as `<ip>:<port>`, the format of a list of name servers. */
  address: string;
  /** The queries so far as `<type> <name>`, in the order in which they arrived. */
  queries: string[];
  close(): Promise<void>;
}

const TYPES: Readonly<Record<number, string>> = { 1: 'A', 5: 'CNAME', 28: 'AAAA' };
const RCODES = { NOERROR: 0, SERVFAIL: 2, NXDOMAIN: 3, REFUSED: 5 };

/**
 * Starts a DNS server, for UDP only.
 * @param entryOf returns the records of a name (lower case, without a final dot); undefined if the name does not exist
 */
export async function startDnsServer(
  entryOf: (name: string) => DnsEntry | undefined,
  host = '127.0.0.1',
): Promise<DnsServer> {
  const socket = createSocket('udp4');
  const queries: string[] = [];
  const timers = new Set<NodeJS.Timeout>();

  socket.on('message', (query: Buffer, from: RemoteInfo) => {
    const { name, end } = readName(query, 12);
    const type = query.readUInt16BE(end);
    queries.push(`${TYPES[type] ?? type} ${name}`);
    const entry = entryOf(name);
    if (entry?.fault === 'silent' || (entry?.silentForIpv6 === true && type === 28)) return;
    const answer = answerOf(query.subarray(0, end + 4), type, name, entry, entryOf);
    const timer = setTimeout(() => {
      timers.delete(timer);
      socket.send(answer, from.port, from.address);
    }, entry?.delayMs ?? 0);
    timers.add(timer);
  });
  socket.bind(0, host);
  await once(socket, 'listening');
  return {
    address: `${host}:${socket.address().port}`,
    queries,
    async close() {
      for (const timer of timers) clearTimeout(timer);
      socket.close();
      await once(socket, 'close');
    },
  };
}

function answerOf(
  question: Buffer,
  type: number,
  name: string,
  entry: DnsEntry | undefined,
  entryOf: (name: string) => DnsEntry | undefined,
): Buffer {
  const rcode = entry?.fault === 'SERVFAIL' || entry?.fault === 'REFUSED' ? RCODES[entry.fault] : undefined;
  const records: Buffer[] = [];
  let owner = name;
  let at = entry;
  while (rcode === undefined && at?.cname !== undefined) {
    records.push(record(owner, 5, writeName(at.cname)));
    owner = at.cname;
    at = entryOf(owner);
  }
  for (const address of rcode === undefined ? (at?.addresses ?? []) : []) {
    if (type === (isIPv6(address) ? 28 : 1)) records.push(record(owner, type, bytesOf(address)));
  }
  const header = Buffer.alloc(12);
  question.copy(header, 0, 0, 2);
  // Sets the flags: the message is a response, and recursion is desired and available.
  header.writeUInt16BE(0x8180 | (rcode ?? (at === undefined ? RCODES.NXDOMAIN : RCODES.NOERROR)), 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  return Buffer.concat([header, question.subarray(12), ...records]);
}

function record(owner: string, type: number, data: Buffer): Buffer {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(type, 0);
  fixed.writeUInt16BE(1, 2);
  fixed.writeUInt32BE(3_600, 4);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([writeName(owner), fixed, data]);
}

function readName(message: Buffer, start: number): { name: string; end: number } {
  const labels: string[] = [];
  let at = start;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 };
}

function writeName(name: string): Buffer {
  const labels = name.split('.').map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)]));
  return Buffer.concat([...labels, Buffer.from([0])]);
}

function bytesOf(address: string): Buffer {
  if (!isIPv6(address)) return Buffer.from(address.split('.').map(Number));
  const [head = '', tail] = address.split('::');
  const groups = (text: string) => (text === '' ? [] : text.split(':').map((group) => parseInt(group, 16)));
  const zeros = tail === undefined ? 0 : 8 - groups(head).length - groups(tail).length;
  const all = [...groups(head), ...Array.from({ length: zeros }, () => 0), ...groups(tail ?? '')];
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 0xff]));
}
