import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPorts } from '../../src/dev/processes/free-port.js';
import { untilStopped } from '../../src/dev/processes/stop-signals.js';
import { startWatchdog } from '../../src/dev/processes/watchdog.js';
import { check, collectEvidence } from './checks.js';
import type { ShapeContext } from './context.js';
import { deploy, restartCarrier, type Step } from './deployment.js';
import { checkAfterCuts } from './hosts/checks-after-cuts.js';
import { cutOffHosts, type Cut } from './hosts/cut-off.js';
import { placesOn } from './hosts/network.js';
import { runOnHosts } from './hosts/run-on-hosts.js';
import { startLoad } from './load.js';
import { readOptions, type Options } from './options.js';
import { LOOPBACK } from './place.js';
import { startPrometheus } from './prometheus.js';
import { printReport } from './report.js';
import { rotate } from './rotation.js';
import { startShape } from './shape.js';

/** The whole run, without the time to build servers the first time. */
const WITHIN_MS = 1_800_000;

/** Runs the installation, deploys a release under load, and checks what is left. @returns whether everything held */
async function run(context: ShapeContext, options: Options): Promise<boolean> {
  const shape = await startShape(context, options);
  const prometheus = options.prometheus ? await startPrometheus(context, shape) : undefined;
  context.report('everything runs; calls begin');
  const { hosts, embedded, owner } = options;
  let deploying = true;
  const load = startLoad({
    ...shape,
    calls: options.calls,
    everyMs: options.everyMs,
    more: () => deploying,
    mayFail: hosts,
    signal: context.signal,
  });
  const placed = () => load.placed.length + load.received.length;
  let steps: Step[];
  let cuts: Cut[] = [];
  try {
    if (owner !== undefined)
      ({ steps, cuts } = await cutOffHosts(context, shape, { owner, isShort: embedded, placed }));
    else steps = await (options.rotate ? rotate : deploy)(context, shape, placed);
  } finally {
    deploying = false;
  }
  await load.done;
  context.report('every call has ended');
  const evidence = await collectEvidence(shape, load);
  const result = await (hosts ? checkAfterCuts : check)({ shape, load, steps, cuts, evidence });
  if (prometheus !== undefined) {
    result.findings.push(...(await prometheus.check()));
    context.report(`alerts that fire: ${(await prometheus.firing()).join(', ') || 'none'}`);
  }
  await restartCarrier(shape);
  if (options.logs !== undefined) await writeFile(options.logs, evidence.logs);
  printReport({ shape, load, steps, ...result });
  return result.findings.every(({ faults }) => faults.length === 0);
}

/** Returns a signal that is aborted when the process that made the hosts ends, if this one runs on them. */
function ownerEnded({ owner }: Options): AbortSignal[] {
  if (owner === undefined) return [];
  const ended = new AbortController();
  process.stdin.resume().once('end', () => ended.abort());
  return [ended.signal];
}

/** Gives the run a folder and ports, and ends everything that it has started. */
async function main(args: readonly string[]): Promise<boolean> {
  const options = readOptions(args);
  const report = (line: string) => void process.stderr.write(`shape: ${line}\n`);
  if (options.hosts && options.owner === undefined) return runOnHosts(args, options, report);
  const folder = await mkdtemp(join(tmpdir(), 'callwright-shape-'));
  const ports = createPorts(process.env);
  const watchdog = startWatchdog();
  const undo: (() => Promise<unknown>)[] = [
    () => rm(folder, { recursive: true, force: true }),
    () => ports.release(),
    () => watchdog.close(),
  ];
  try {
    return await untilStopped((stopped) => {
      const signal = AbortSignal.any([stopped, AbortSignal.timeout(WITHIN_MS), ...ownerEnded(options)]);
      const context: ShapeContext = {
        folder,
        env: process.env,
        ports,
        place: options.owner === undefined ? () => LOOPBACK : placesOn(options.owner),
        report,
        signal,
        keep(_name, server) {
          watchdog.watch(server.pid);
          void server.exited.then(() => watchdog.forget(server.pid));
          undo.push(() => server.stop());
          return server;
        },
        atEnd: (step) => void undo.push(step),
      };
      return run(context, options);
    });
  } finally {
    for (const step of undo.toReversed()) await step().catch((error: unknown) => report(String(error)));
  }
}

main(process.argv.slice(2)).then(
  (held) => process.exit(held ? 0 : 1),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    process.exit(1);
  },
);
