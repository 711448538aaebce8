import { z } from 'zod';

/**
 * The task queues of the service. Work in one of them never waits for a slot of the other:
 * - `calls`: live calls, from the reservation to the webhook;
 * - `background`: test calls, erasures, redeliveries and reconciliation.
 */
export const QUEUES = ['calls', 'background'] as const;
export type Queue = (typeof QUEUES)[number];

const SUFFIX = '-background';

/** The name at Temporal of the queue `calls`. Alerts tell the queues apart by their ends. */
export const taskQueueName = z
  .string()
  .refine((name) => !name.endsWith(SUFFIX), `must not end in ${SUFFIX}, which names the second queue`);

/** Returns the names of the queues at Temporal. Calls that began before there were two are in the queue without a suffix. */
export function taskQueues(name: string): Readonly<Record<Queue, string>> {
  return { calls: name, background: `${name}${SUFFIX}` };
}

const isQueue = (name: string): name is Queue => QUEUES.some((queue) => queue === name);
const namesIn = (list: string) => list.split(',').map((name) => name.trim());

/** A comma-separated list of queues. */
export const queueList = z
  .string()
  .refine((list) => namesIn(list).every(isQueue), `must be a list of ${QUEUES.join(', ')}`)
  .transform((list): readonly Queue[] => QUEUES.filter((queue) => namesIn(list).includes(queue)));
