import { RATE, mean, orZero, rateBy } from './parts.js';
import type { Dashboard } from './types.js';

export const OVERVIEW: Dashboard = {
  uid: 'callwright-overview',
  title: 'overview',
  description: 'Whether calls work at this moment. Start here.',
  panels: [
    {
      title: 'Live calls in progress',
      about: 'Calls that are accepted and have not ended.',
      unit: 'none',
      stat: true,
      queries: [{ expr: 'max(callwright_calls_in_progress{mode="live"})', legend: 'live' }],
    },
    {
      title: 'Processes that do not respond',
      about: 'See the runbook "Process down".',
      unit: 'none',
      stat: true,
      red: 1,
      queries: [{ expr: orZero('count(up{job=~"callwright|temporal-sdk"} == 0)'), legend: 'down' }],
    },
    {
      title: 'Alerts',
      about: 'Alerts that fire. Each has a runbook.',
      unit: 'none',
      stat: true,
      red: 1,
      queries: [{ expr: orZero('count(ALERTS{alertstate="firing"})'), legend: 'firing' }],
    },
    {
      title: 'Records that differ',
      about: 'Unresolved findings of the reconciliation. See the runbook "Records differ".',
      unit: 'none',
      stat: true,
      red: 1,
      queries: [{ expr: orZero('sum(callwright_reconciliation_open_findings)'), legend: 'open' }],
    },
    {
      title: 'Bad events of the objectives, last hour',
      about:
        'The share of calls dialed late, of late replies and of late webhooks. The objectives are 1 %, 5 % and 1 %.',
      unit: 'percentunit',
      queries: [
        { expr: 'callwright:dial_errors:ratio1h', legend: 'dialed after 5 s, or never' },
        { expr: 'callwright:reply_errors:ratio1h', legend: 'replies after 2 s' },
        { expr: 'callwright:webhook_errors:ratio1h', legend: 'webhooks after 60 s' },
      ],
    },
    {
      title: 'Calls by mode and direction',
      about: 'Accepted calls per second.',
      unit: 'cps',
      stacked: true,
      queries: [
        { expr: rateBy('mode, direction', 'callwright_calls_accepted_total'), legend: '{{mode}} {{direction}}' },
      ],
    },
    {
      title: 'How calls end',
      about:
        'Ended calls per second. media_failed, internal_error and expired are our failures, except in the browser.',
      unit: 'cps',
      stacked: true,
      queries: [
        {
          expr: rateBy('line, status, end_reason', 'callwright_calls_ended_total'),
          legend: '{{line}} {{status}} {{end_reason}}',
        },
      ],
    },
    {
      title: 'Calls in progress',
      about: 'Of the whole service, from the database.',
      unit: 'none',
      queries: [{ expr: 'max by (mode) (callwright_calls_in_progress)', legend: '{{mode}}' }],
    },
    {
      title: 'Requests with an error of ours',
      about:
        'The share of API requests with a 5xx status, those of frozen accounts excluded. See the runbook "Requests fail".',
      unit: 'percentunit',
      red: 0.02,
      queries: [
        {
          expr: `(sum(rate(callwright_http_request_duration_seconds_count{status=~"5..", cause!="frozen", mode!="test", route!~"/health/.*|other"}${RATE})) or vector(0)) / sum(rate(callwright_http_request_duration_seconds_count{cause!="frozen", mode!="test", route!~"/health/.*|other"}${RATE}))`,
          legend: '5xx',
        },
      ],
    },
    {
      title: 'New calls that fail',
      about:
        'The share among live calls that failed because of the service or were accepted. See the runbook "Requests fail".',
      unit: 'percentunit',
      red: 0.5,
      queries: [
        {
          expr: `sum(rate(callwright_placing_decisions_total{mode="live", outcome="failed"}${RATE})) / sum(rate(callwright_placing_decisions_total{mode="live", outcome=~"accepted|failed"}${RATE}))`,
          legend: 'failed',
        },
      ],
    },
    {
      title: 'Rejected inbound calls',
      about:
        'Calls from the carrier that were not taken, per second. failure is ours: see the runbook "Inbound calls fail".',
      unit: 'cps',
      stacked: true,
      queries: [{ expr: orZero(rateBy('cause', 'callwright_inbound_calls_rejected_total')), legend: '{{cause}}' }],
    },
    {
      title: 'Mean time of MongoDB, Temporal and the carrier',
      about: 'How long requests to them take. One slow: look there. All slow: the machines are busy.',
      unit: 's',
      queries: [
        { expr: mean('callwright_mongodb_command_duration_seconds', 'job'), legend: 'MongoDB' },
        { expr: mean('temporal_request_latency_seconds', 'job'), legend: 'Temporal' },
        { expr: mean('callwright_carrier_request_duration_seconds', 'job'), legend: 'carrier' },
      ],
    },
    {
      title: 'Processes that reach MongoDB and Temporal',
      about: 'The share of processes to which each of the two responds. See the runbook "Dependency down".',
      unit: 'percentunit',
      queries: [{ expr: 'avg by (dependency) (callwright_dependency_up)', legend: '{{dependency}}' }],
    },
    {
      title: 'Processes by role and version',
      about: 'During a deployment two versions run.',
      unit: 'none',
      queries: [{ expr: 'count by (role, version) (callwright_build_info)', legend: '{{role}} {{version}}' }],
    },
  ],
};
