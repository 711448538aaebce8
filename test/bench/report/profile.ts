import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CpuProfile } from '../stack/inspector.js';

/** The time that a function itself took, without the functions that it called. */
export interface SelfTime {
  /** The function with its file and line, or a state of the engine such as `(garbage collector)`. */
  name: string;
  ms: number;
  /** Share of the time in which the thread was not idle. */
  share: number;
}

/** The time in which the thread waited for something to do. */
const IDLE = '(idle)';

/** Adds up the time of each function over all samples, longest first, without idle time. */
export function selfTimes({ nodes, samples, timeDeltas }: CpuProfile, root: string): SelfTime[] {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame, root)]));
  const times = new Map<string, number>();
  let busy = 0;
  // A delta is the time before its sample, so a sample lasts until the next one.
  samples.forEach((id, index) => {
    const ms = Math.max(0, timeDeltas[index + 1] ?? 0) / 1_000;
    const name = names.get(id) ?? 'unknown';
    if (name === IDLE) return;
    busy += ms;
    times.set(name, (times.get(name) ?? 0) + ms);
  });
  return [...times]
    .map(([name, ms]) => ({ name, ms, share: busy === 0 ? 0 : ms / busy }))
    .toSorted((a, b) => b.ms - a.ms);
}

/** Adds up the self time by package: which part of the code, or which dependency, the time belongs to. */
export function timesByPackage(times: readonly SelfTime[]): SelfTime[] {
  const packages = new Map<string, SelfTime>();
  for (const { name, ms, share } of times) {
    const owner = packageOf(name);
    const sum = packages.get(owner) ?? { name: owner, ms: 0, share: 0 };
    packages.set(owner, { name: owner, ms: sum.ms + ms, share: sum.share + share });
  }
  return [...packages.values()].toSorted((a, b) => b.ms - a.ms);
}

function nameOf({ functionName, url, lineNumber }: CpuProfile['nodes'][number]['callFrame'], root: string): string {
  const name = functionName || '(anonymous)';
  if (url === '') return name;
  const path = url.startsWith('file:') ? fileURLToPath(url) : url;
  return `${name} ${path.startsWith('/') ? relative(root, path) : path}:${lineNumber + 1}`;
}

function packageOf(name: string): string {
  if (!name.includes(':')) return name.startsWith('(') ? name : 'V8 and native code';
  const place = name.slice(name.lastIndexOf(' ') + 1);
  const [, dependency] = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(place) ?? [];
  if (dependency !== undefined) return dependency;
  if (place.startsWith('node:')) return 'node';
  const [, own] = /^(?:dist\/)?((?:src\/)?[^/:]+)/.exec(place) ?? [];
  return own ?? name;
}
