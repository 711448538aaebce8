import { database, ofRole, orZero, processes, RATE } from './parts.js';
import type { Dashboard, Panel } from './types.js';

const running = (role: string, about: string): Panel => ({
  title: 'Time since the start',
  about,
  unit: 's',
  queries: [{ expr: ofRole(role, '(time() - process_start_time_seconds)'), legend: '{{instance}}' }],
});

const requestsTo = (role: string) =>
  `sum by (route, status) (${ofRole(role, `rate(callwright_http_request_duration_seconds_count${RATE})`)})`;

export const EXPORTER: Dashboard = {
  uid: 'callwright-exporter',
  title: 'exporter',
  description: 'The process that reads the state of the whole service from the database.',
  panels: [
    running(
      'exporter',
      'Without this process nothing below has a value, and the alerts on records and the dial queue cannot fire.',
    ),
    {
      title: 'Calls in progress',
      about: 'By mode, counted in the database.',
      unit: 'none',
      queries: [{ expr: 'max by (mode) (callwright_calls_in_progress)', legend: '{{mode}}' }],
    },
    {
      title: 'Calls that wait for a dial slot',
      about: 'See the runbook "Dial queue long".',
      unit: 'none',
      red: 30,
      queries: [{ expr: 'max(callwright_dial_queue_calls)', legend: 'waiting' }],
    },
    {
      title: 'Unresolved findings',
      about: 'See the runbook "Records differ".',
      unit: 'none',
      queries: [{ expr: orZero('max by (kind) (callwright_reconciliation_open_findings)'), legend: '{{kind}}' }],
    },
    {
      title: 'Data past its retention',
      about: 'Since when it could have been deleted, by class. See the runbook "Retention late".',
      unit: 's',
      red: 86_400,
      queries: [{ expr: 'max by (class) (callwright_retention_overdue_seconds)', legend: '{{class}}' }],
    },
    {
      title: 'Recordings in segments',
      about: 'Age of the oldest. See the runbook "Retention late".',
      unit: 's',
      red: 86_400,
      queries: [{ expr: 'max(callwright_recordings_unjoined_seconds)', legend: 'oldest' }],
    },
    ...database('exporter'),
    ...processes('exporter'),
  ],
};

export const CODEC: Dashboard = {
  uid: 'callwright-codec',
  title: 'codec server',
  description: 'The process that shows operators what is encrypted in Temporal.',
  panels: [
    running('codec', 'Without this process the Temporal UI shows encrypted data only. Calls do not need it.'),
    {
      title: 'Requests to decrypt',
      about: 'By status, per second. Status 401: somebody has a wrong token, or none.',
      unit: 'reqps',
      queries: [{ expr: orZero(requestsTo('codec')), legend: '{{status}}' }],
    },
    ...processes('codec'),
  ],
};

export const SIMULATOR: Dashboard = {
  uid: 'callwright-simulator',
  title: 'simulated carrier',
  description: 'The carrier of test calls, which never reaches a telephone.',
  panels: [
    running('simulator', 'Live calls do not need this process.'),
    {
      title: 'Requests to it',
      about: 'By operation and outcome, per second, as the workers see them.',
      unit: 'reqps',
      queries: [
        {
          expr: orZero(
            `sum by (operation, outcome) (rate(callwright_carrier_request_duration_seconds_count{mode="test"}${RATE}))`,
          ),
          legend: '{{operation}} {{outcome}}',
        },
      ],
    },
    ...processes('simulator'),
  ],
};
