import { parseConfig } from '../../src/platform/config/config.js';

const withQueues = (env: Record<string, string>) => parseConfig({ NODE_ENV: 'test', ...env });

describe('task queues', () => {
  it('are one for live calls, with the name that the only one had, and one for everything else', () => {
    expect(withQueues({}).temporal.taskQueues).toEqual({ calls: 'callwright', background: 'callwright-background' });
    expect(withQueues({ TEMPORAL_TASK_QUEUE: 'eu' }).temporal.taskQueues.background).toBe('eu-background');
    expect(() => withQueues({ TEMPORAL_TASK_QUEUE: 'eu-background' })).toThrow('TEMPORAL_TASK_QUEUE: must not end in');
  });

  it('are both served by a worker, unless WORKER_QUEUES names one', () => {
    expect(withQueues({}).worker.queues).toEqual(['calls', 'background']);
    expect(withQueues({ WORKER_QUEUES: 'background' }).worker.queues).toEqual(['background']);
    expect(withQueues({ WORKER_QUEUES: ' background, calls' }).worker.queues).toEqual(['calls', 'background']);
    for (const wrong of ['call', 'calls;background', 'calls,', ',']) {
      expect(() => withQueues({ WORKER_QUEUES: wrong })).toThrow('WORKER_QUEUES: must be a list of calls, background');
    }
  });

  it('have fewer slots and pollers for the background by default', () => {
    const { calls, background } = withQueues({}).worker.capacity;
    expect(background.maxCached).toBeLessThan(calls.maxCached);
    for (const kind of ['workflowTasks', 'activities'] as const) {
      expect(background.slots[kind]).toBeLessThan(calls.slots[kind]);
      expect(background.pollers[kind]).toBeLessThan(calls.pollers[kind]);
    }
  });
});
