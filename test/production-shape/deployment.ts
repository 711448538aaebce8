import { setTimeout as sleep } from 'node:timers/promises';
import type { ShapeContext } from './context.js';
import type { Instance, RoleName } from './roles.js';
import { HEALTH_EVERY_MS } from './servers/proxy.js';
import { FIRST_BUILD, startWorkers, type Shape } from './shape.js';
import { setCurrentVersion, waitUntilDrained } from './versions.js';

/** A step of the deployment, with the calls that were placed meanwhile. */
export interface Step {
  name: string;
  seconds: number;
  requests: number;
  calls: number;
}

const SECOND_BUILD = 'release-2';
/** The proxy may need two checks to notice that a process is ready again. */
const NOTICED_AFTER_MS = 2.5 * HEALTH_EVERY_MS;

/**
 * Deploys a release while calls are placed, in the order of docs/operations/upgrade.md: new workers beside the old ones, then one
 * process of each other role after the other.
 */
export async function deploy(context: ShapeContext, shape: Shape, placed: () => number): Promise<Step[]> {
  const { steps, step } = createSteps(context, shape, placed);
  const old = of(shape, 'worker');
  await step(`workers of ${SECOND_BUILD} start beside those of ${FIRST_BUILD}`, async () => {
    await Promise.all(startWorkers(shape, SECOND_BUILD));
    await setCurrentVersion(context, shape.env, SECOND_BUILD);
  });
  await step(`${FIRST_BUILD} is drained, and its workers stop`, async () => {
    await waitUntilDrained(shape.temporalAddress, FIRST_BUILD);
    for (const worker of old) await remove(shape, worker);
  });
  for (const instance of inOrder(shape)) {
    await step(`${instance.name} restarts`, () => restart(context, instance));
  }
  return steps;
}

/** Creates the list of steps, and a function that does one and adds it. */
export function createSteps(context: ShapeContext, shape: Shape, placed: () => number) {
  const steps: Step[] = [];
  async function step(name: string, work: () => Promise<void>): Promise<void> {
    const [began, requests, calls] = [Date.now(), shape.client.requests(), placed()];
    await work();
    const seconds = Math.round((Date.now() - began) / 1_000);
    steps.push({ name, seconds, requests: shape.client.requests() - requests, calls: placed() - calls });
    context.report(`${name}: ${seconds} s`);
  }
  return { steps, step };
}

/** The processes that restart while calls are in progress, workers first. */
export const inOrder = (shape: Shape): Instance[] =>
  (['worker', 'api', 'media', 'exporter'] as const).flatMap((role) => of(shape, role));

/** Restarts a process, and waits until the proxy has noticed. */
export async function restart({ signal }: ShapeContext, instance: Instance): Promise<void> {
  await instance.restart();
  await sleep(NOTICED_AFTER_MS, undefined, { signal });
}

/** The simulated carrier forgets its calls when it restarts, so it restarts when they have ended. */
export async function restartCarrier(shape: Shape): Promise<void> {
  for (const instance of of(shape, 'simulator')) await instance.restart();
}

function of({ instances }: Shape, role: RoleName): Instance[] {
  return instances.filter((instance) => instance.role === role);
}

async function remove(shape: Shape, instance: Instance): Promise<void> {
  shape.instances.splice(shape.instances.indexOf(instance), 1);
  await instance.stop();
}
