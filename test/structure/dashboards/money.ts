import { RATE, orZero, rateBy } from './parts.js';
import type { Dashboard } from './types.js';

export const MONEY: Dashboard = {
  uid: 'callwright-money',
  title: 'money',
  description: 'Holds, and whether bills agree with what happened. Amounts are in USD.',
  panels: [
    {
      title: 'Held for live calls',
      about: 'Money that is reserved for calls in progress.',
      unit: 'currencyUSD',
      stat: true,
      queries: [{ expr: 'max(callwright_money_held_micro_usd{mode="live"}) / 1e6', legend: 'held' }],
    },
    {
      title: 'Unresolved findings',
      about:
        'Records that differ. If money is concerned, the account gets no new calls. See the runbook "Records differ".',
      unit: 'none',
      stat: true,
      red: 1,
      queries: [{ expr: orZero('sum(callwright_reconciliation_open_findings)'), legend: 'open' }],
    },
    {
      title: 'Held by mode',
      about: 'It follows the number of calls. It must return to 0 without calls.',
      unit: 'currencyUSD',
      queries: [{ expr: 'max by (mode) (callwright_money_held_micro_usd) / 1e6', legend: '{{mode}}' }],
    },
    {
      title: 'Held for each live call',
      about: 'At the default price, 0.15 to 39.60 USD: the windows of talk that a call has paid for.',
      unit: 'currencyUSD',
      queries: [
        {
          expr: 'max(callwright_money_held_micro_usd{mode="live"}) / 1e6 / (max(callwright_calls_in_progress{mode="live"}) > 0)',
          legend: 'each',
        },
      ],
    },
    {
      title: 'Findings by kind',
      about: 'What the reconciliation found and nobody has resolved yet.',
      unit: 'none',
      queries: [{ expr: orZero('max by (kind) (callwright_reconciliation_open_findings)'), legend: '{{kind}}' }],
    },
    {
      title: 'Records that cannot be compared',
      about: 'See the runbook "Records broken".',
      unit: 'none',
      queries: [
        { expr: orZero(`sum(increase(callwright_reconciliation_broken_records_total${RATE}))`), legend: 'broken' },
        {
          expr: orZero(`sum by (kind) (increase(callwright_reconciliation_findings_total${RATE}))`),
          legend: 'found: {{kind}}',
        },
      ],
    },
    {
      title: 'Live calls that ended for want of money',
      about: 'The balance or the daily limit of the account was used up.',
      unit: 'cps',
      queries: [
        {
          expr: orZero(
            rateBy('direction', 'callwright_calls_ended_total{mode="live", end_reason="balance_exhausted"}'),
          ),
          legend: '{{direction}}',
        },
      ],
    },
    {
      title: 'Conflicts in the ledger',
      about: 'Writes that were repeated because of other writers, per second.',
      unit: 'cps',
      queries: [
        { expr: orZero(rateBy('name', 'callwright_write_retries_total{name=~"ledger.*"}')), legend: '{{name}}' },
      ],
    },
    {
      title: 'Paid checkouts',
      about: 'Events. Those that are ignored credit nothing: PAYMENT_LINK_IDS does not list their payment link.',
      unit: 'none',
      queries: [
        {
          expr: orZero(`sum by (outcome) (increase(callwright_payment_events_total${RATE}))`),
          legend: '{{outcome}}',
        },
      ],
    },
  ],
};
