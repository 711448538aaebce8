import { RATE, ofRole, orZero, processes, quantile, quantiles, rateBy } from './parts.js';
import type { Dashboard } from './types.js';

export const MEDIA: Dashboard = {
  uid: 'callwright-media',
  title: 'media',
  description: 'Audio and conversations.',
  panels: [
    {
      title: 'Media streams',
      about: 'Open streams of each process.',
      unit: 'none',
      stacked: true,
      // Every process has the gauge, and only media processes have streams.
      queries: [{ expr: ofRole('media', 'callwright_media_streams'), legend: '{{instance}}' }],
    },
    {
      title: 'Late audio',
      about:
        'The share of 20 ms periods with audio that is sent more than 20 ms late, which can be heard. See the runbook "Audio late".',
      unit: 'percentunit',
      red: 0.01,
      queries: [
        {
          expr: `1 - sum by (instance) (rate(callwright_frame_lateness_seconds_bucket{le="0.02"}${RATE})) / sum by (instance) (rate(callwright_frame_lateness_seconds_count${RATE}))`,
          legend: '{{instance}}',
        },
      ],
    },
    {
      title: 'Time to reply',
      about: 'From the last word of a person to the first audio of the reply. See the runbook "Replies late".',
      unit: 's',
      red: 2,
      queries: quantiles('callwright_reply_latency_seconds', '{stage="total"}'),
    },
    {
      title: 'Time to reply by stage',
      about: 'The median of each part of the reply.',
      unit: 's',
      queries: [
        {
          expr: quantile(0.5, 'callwright_reply_latency_seconds', '', 'engine, stage'),
          legend: '{{engine}} {{stage}}',
        },
      ],
    },
    {
      title: 'Failures of providers',
      about:
        'Per second, of speech and models, by blame. request: a call caused it by its content. See the runbook "Providers fail".',
      unit: 'cps',
      queries: [
        {
          expr: orZero(`${rateBy('part, provider, blame', 'callwright_provider_failures_total')} > 0`),
          legend: '{{part}} {{provider}}: {{blame}}',
        },
        {
          expr: orZero(rateBy('stage, cause', 'callwright_provider_switches_total')),
          legend: 'switched: {{stage}} {{cause}}',
        },
      ],
    },
    {
      title: 'Lost and moved streams',
      about:
        'Moves are part of deployments; failures are not. Browsers also lose their own connections. See the runbook "Streams lost".',
      unit: 'cps',
      queries: [
        {
          expr: orZero(rateBy('line, cause, decision', 'callwright_next_streams_total')),
          legend: '{{line}} {{cause}} {{decision}}',
        },
      ],
    },
    ...processes('media'),
  ],
};
