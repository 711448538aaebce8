import type { Place } from '../place.js';
import { inNamespace, ip } from './ip.js';

/** The host of the proxy, the carrier, the customer's server and this program, to which the others are connected. */
export const HUB = 'hub';
/** The other hosts, by the names of their processes. */
export const HOSTS = [
  'mongodb',
  'temporal',
  'exporter',
  'api-1',
  'api-2',
  'media-1',
  'media-2',
  'worker-1',
  'worker-2',
  'worker-3',
  'worker-4',
] as const;
export type HostName = (typeof HOSTS)[number];

const PREFIX = 'callwright-shape';
/** The network exists only among the namespaces, so it does not matter whether the machine uses the same addresses. */
const NETWORK = '10.77.0';
const BRIDGE = 'bridge';
const ALL = [HUB, ...HOSTS];

const namespaceOf = (owner: number, host: string) => `${PREFIX}-${owner}-${host}`;
const numberOf = (host: string) => 1 + ALL.indexOf(host);
export const addressOf = (host: string) => `${NETWORK}.${numberOf(host)}`;
const macOf = (host: string) => `02:00:0a:4d:00:${numberOf(host).toString(16).padStart(2, '0')}`;

/**
 * Makes a network namespace for each host, and connects them by a bridge in that of the hub. None has a way out.
 * @param owner the process to which they belong
 * @throws Error if one of them cannot be made; the others may exist then
 */
export function createNetwork(owner: number): void {
  for (const host of ALL) ip(['netns', 'add', namespaceOf(owner, host)]);
  const inHost = (host: string, lines: readonly string[]) =>
    ip(['-netns', namespaceOf(owner, host), '-batch', '-'], lines);
  inHost(HUB, [
    'link set dev lo up',
    `link add name ${BRIDGE} address ${macOf(HUB)} type bridge`,
    ...addressLines(HUB, BRIDGE),
    ...HOSTS.flatMap((host) => [
      `link add name ${host} type veth peer name eth0 address ${macOf(host)} netns ${namespaceOf(owner, host)}`,
      `link set dev ${host} master ${BRIDGE} up`,
    ]),
  ]);
  for (const host of HOSTS) inHost(host, ['link set dev lo up', ...addressLines(host, 'eth0')]);
}

/**
 * The hosts know each other's hardware addresses for good. Otherwise a connection to a host that is cut off would fail
 * after 3 s, because its address gets no answer. Across routers nothing fails so soon.
 */
function addressLines(host: string, device: string): string[] {
  return [
    `address add ${addressOf(host)}/24 dev ${device}`,
    `link set dev ${device} up`,
    ...ALL.filter((other) => other !== host).map(
      (other) => `neighbour replace ${addressOf(other)} lladdr ${macOf(other)} dev ${device} nud permanent`,
    ),
  ];
}

/** Cuts a host off, or connects it again. Its processes run on, and every packet from and to it is lost. */
export function setConnected(owner: number, host: HostName, isConnected: boolean): void {
  ip(['-netns', namespaceOf(owner, HUB), 'link', 'set', 'dev', host, isConnected ? 'up' : 'down']);
}

/** Returns the host of each process, by its name such as `worker 2 of release-1`. */
export function placesOn(owner: number): (name: string) => Place {
  return (name) => {
    const host = name
      .replace(/ of .*$/, '')
      .replaceAll(' ', '-')
      .toLowerCase();
    const known = HOSTS.find((each) => each === host);
    if (known === undefined) return { address: addressOf(HUB), at: (file, args) => ({ file, args }) };
    const namespace = namespaceOf(owner, known);
    return { address: addressOf(known), at: (file, args) => inNamespace(namespace, file, args) };
  };
}

/** Returns the command line that runs a program on the hub. */
export const onHub = (owner: number, file: string, args: readonly string[]) =>
  inNamespace(namespaceOf(owner, HUB), file, args);

/** Removes the namespaces of a process, with all that is in them. */
export function removeNetwork(owner: number): void {
  for (const namespace of namespaces().filter((each) => ownerOf(each) === owner)) {
    for (const pid of ip(['netns', 'pids', namespace]).split('\n').filter(Boolean)) kill(Number(pid));
    ip(['netns', 'delete', namespace]);
  }
}

/** Removes the namespaces of processes that were killed. @returns the ids of these processes */
export function removeLeftNetworks(): number[] {
  const owners = new Set(namespaces().flatMap((namespace) => ownerOf(namespace) ?? []));
  const left = [...owners].filter((owner) => !isRunning(owner));
  for (const owner of left) removeNetwork(owner);
  return left;
}

function namespaces(): string[] {
  const lines = ip(['netns', 'list']).split('\n');
  return lines.flatMap((line) => line.split(' ')[0] || []);
}

function ownerOf(namespace: string): number | undefined {
  const [, owner] = /^callwright-shape-(\d+)-/.exec(namespace) ?? [];
  return owner === undefined ? undefined : Number(owner);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** Ends a process that is left in a namespace. It may have ended meanwhile. */
function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
