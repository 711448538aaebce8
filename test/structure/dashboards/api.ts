import { database, orZero, processes, quantile, quantiles, rateBy } from './parts.js';
import type { Dashboard } from './types.js';

export const API: Dashboard = {
  uid: 'callwright-api',
  title: 'api',
  description: 'Requests of customers, of the portal and of the carrier.',
  panels: [
    {
      title: 'Requests by status',
      about: 'Requests per second.',
      unit: 'reqps',
      stacked: true,
      queries: [{ expr: rateBy('status', 'callwright_http_request_duration_seconds_count'), legend: '{{status}}' }],
    },
    {
      title: 'Response time',
      about: 'From the arrival of a request until its response is prepared, health checks excluded.',
      unit: 's',
      queries: quantiles('callwright_http_request_duration_seconds', '{route!~"/health/.*|other"}'),
    },
    {
      title: 'Slowest routes',
      about: 'The 95th percentile of the five slowest routes.',
      unit: 's',
      queries: [
        {
          expr: `topk(5, ${quantile(0.95, 'callwright_http_request_duration_seconds', '{route!~"/health/.*|other"}', 'method, route')})`,
          legend: '{{method}} {{route}}',
        },
      ],
    },
    {
      title: 'Errors by route',
      about: 'Responses per second with a 5xx status. frozen: the account is frozen, and nothing has failed.',
      unit: 'reqps',
      queries: [
        {
          expr: orZero(rateBy('route, status, cause', 'callwright_http_request_duration_seconds_count{status=~"5.."}')),
          legend: '{{route}} {{status}} {{cause}}',
        },
      ],
    },
    {
      title: 'Decisions about new calls',
      about:
        'Requests for calls to phones and in browsers, per second. failed is ours: see the runbook "Requests fail". repeated got the stored response of an earlier request.',
      unit: 'reqps',
      stacked: true,
      queries: [
        { expr: rateBy('mode, outcome', 'callwright_placing_decisions_total'), legend: '{{mode}} {{outcome}}' },
      ],
    },
    {
      title: 'Calls that asked for another stream',
      about: 'After a failure, or because their media process stops.',
      unit: 'cps',
      queries: [
        {
          expr: orZero(rateBy('line, cause, decision', 'callwright_next_streams_total')),
          legend: '{{line}} {{cause}} {{decision}}',
        },
      ],
    },
    ...database('api'),
    ...processes('api'),
  ],
};
