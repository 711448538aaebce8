import { RATE, database, orZero, processes, quantiles, rateBy } from './parts.js';
import type { Dashboard } from './types.js';

export const WORKER: Dashboard = {
  uid: 'callwright-worker',
  title: 'worker',
  description: 'Workflows and activities: dialing, settlement and webhooks.',
  panels: [
    {
      title: 'Wait of workflow tasks of live calls',
      about: 'From the time when a task is due until a worker begins it. See the runbook "Workers hang".',
      unit: 's',
      red: 1,
      queries: quantiles('temporal_workflow_task_schedule_to_start_latency_seconds', '{task_queue!~".+-background"}'),
    },
    {
      title: 'Wait of workflow tasks in the background',
      about: 'Test calls, erasures, redeliveries and reconciliation. See the runbook "Background late".',
      unit: 's',
      red: 1,
      queries: quantiles('temporal_workflow_task_schedule_to_start_latency_seconds', '{task_queue=~".+-background"}'),
    },
    {
      title: 'Pollers',
      about:
        'Requests by which each worker waits for tasks of a queue. At 0 it takes no more. See the runbooks "Workers hang" and "Queue not served".',
      unit: 'none',
      queries: [
        {
          expr: 'sum by (instance, task_queue, poller_type) (temporal_num_pollers)',
          legend: '{{instance}} {{task_queue}} {{poller_type}}',
        },
      ],
    },
    {
      title: 'Failed activities',
      about: 'Attempts per second that failed. They are repeated.',
      unit: 'cps',
      queries: [
        {
          expr: orZero(rateBy('activity_type', 'temporal_activity_execution_failed_total')),
          legend: '{{activity_type}}',
        },
      ],
    },
    {
      title: 'Time to dial',
      about:
        'From the acceptance of a live call until the carrier dials it, its queue included. See the runbook "Calls dialed late".',
      unit: 's',
      red: 5,
      queries: quantiles('callwright_call_time_to_dial_seconds', '{mode="live"}'),
    },
    {
      title: 'Longest wait for a dial slot',
      about: 'Calls that wait longer than a minute are not dialed. See the runbook "Dial queue long".',
      unit: 's',
      red: 20,
      queries: [{ expr: 'max(callwright_dial_queue_longest_wait_seconds)', legend: 'longest wait' }],
    },
    {
      title: 'Requests to the carrier',
      about: 'By operation and outcome, per second. See the runbooks "Carrier fails" and "Carrier throttles".',
      unit: 'reqps',
      stacked: true,
      queries: [
        {
          expr: rateBy('operation, outcome', 'callwright_carrier_request_duration_seconds_count'),
          legend: '{{operation}} {{outcome}}',
        },
      ],
    },
    {
      title: 'Response time of the carrier',
      about: 'All operations together.',
      unit: 's',
      queries: quantiles('callwright_carrier_request_duration_seconds'),
    },
    {
      title: 'Attempts to deliver webhooks',
      about: 'By outcome, per second. Failures are those of customers’ endpoints.',
      unit: 'reqps',
      stacked: true,
      queries: [
        { expr: rateBy('outcome', 'callwright_webhook_attempt_duration_seconds_count'), legend: '{{outcome}}' },
      ],
    },
    {
      title: 'Wait of webhooks',
      about: 'From the end of a call until its webhook is ready. See the runbook "Webhooks late".',
      unit: 's',
      red: 60,
      queries: quantiles('callwright_webhook_ready_delay_seconds'),
    },
    {
      title: 'Writes given up',
      about: 'Because of other writers. See the runbook "Writes given up".',
      unit: 'none',
      queries: [
        { expr: orZero(`sum by (name) (increase(callwright_writes_given_up_total${RATE}))`), legend: '{{name}}' },
      ],
    },
    ...database('worker'),
    ...processes('worker'),
  ],
};
