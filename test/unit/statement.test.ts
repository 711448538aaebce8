import {
  LedgerEntry,
  LedgerPage,
  LedgerQuery,
  UsageResponse,
  UsageQuery,
  BalanceResponse,
} from '../../src/billing/statements/schemas.js';
import { CheckoutSession, PaymentResponse, PaymentEvent } from '../../src/billing/payments/schemas.js';
import { moneyRoutes } from '../../src/billing/contract.js';
import { usagePeriod, utcMoment } from '../../src/billing/statements/statement.js';
import { createCursors } from '../../src/platform/http/cursor.js';

describe('a time in a statement request', () => {
  it.each([
    ['2026-11-21', '2026-11-21T00:00:00.000Z'],
    ['2026-11-21T10:00Z', '2026-11-21T10:00:00.000Z'],
    ['2026-11-21T10:00:05Z', '2026-11-21T10:00:05.000Z'],
    ['2026-11-21T10:00:05.5Z', '2026-11-21T10:00:05.500Z'],
    ['2028-02-29', '2028-02-29T00:00:00.000Z'],
  ])('is parsed: %s is %s', (text, expected) => {
    expect(utcMoment(text)?.toISOString()).toBe(expected);
  });

  it.each([
    '',
    'now',
    '2026',
    '2026-11',
    '2026-02-29',
    '2026-04-31',
    '2026-11-21T10:00:00',
    '2026-11-21T10:00:00+01:00',
    '2026-11-21 10:00:00Z',
    '2026-11-21T24:00:00Z',
    '2026-11-21T10:00:60Z',
    '２０２６-11-21',
    ' 2026-11-21',
    '2026-11-21\n',
  ])('is rejected: "%s"', (text) => {
    expect(utcMoment(text)).toBeUndefined();
  });
});

describe('the period of a usage request', () => {
  const now = Date.parse('2026-11-21T10:00:00Z');
  const day = (text: string) => new Date(`${text}T00:00:00Z`);

  it('is today and the 29 days before by default', () => {
    expect(usagePeriod({}, now)).toEqual({ from: day('2026-10-23'), to: new Date(now) });
  });

  it('is the 30 days before the end if only that is given', () => {
    expect(usagePeriod({ to: day('2026-07-31') }, now)).toEqual({ from: day('2026-07-01'), to: day('2026-07-31') });
  });

  it('is rejected if it is empty, reversed or longer than 366 days', () => {
    expect(usagePeriod({ from: day('2026-11-21'), to: day('2026-11-21') }, now)).toMatch(/before/);
    expect(usagePeriod({ from: day('2026-11-22') }, now)).toMatch(/before/);
    expect(usagePeriod({ from: day('2025-01-01'), to: day('2026-01-02') }, now)).toEqual(expect.anything());
    expect(usagePeriod({ from: day('2025-01-01'), to: day('2026-01-03') }, now)).toMatch(/366/);
  });
});

describe('a pagination cursor', () => {
  const cursors = createCursors('a-secret');
  const position = { at: new Date(1_795_255_200_123), id: 'Hcall_01JD3Q4Z6WX8Y2V7T5R9S1K0MN~0' };

  it('restores its position, in its own list only', () => {
    const cursor = cursors.write('acct_1~live#0', position);
    expect(cursor).toMatch(/^[\w-]+$/);
    expect(cursors.read('acct_1~live#0', cursor)).toEqual(position);
    expect(() => cursors.read('acct_1~test#0', cursor)).toThrow(/cursor/);
    expect(() => createCursors('another').read('acct_1~live#0', cursor)).toThrow(/cursor/);
  });

  it.each(['', 'x', 'AAAA', '%%%', Buffer.from('0 x').toString('base64url'), 'é'.repeat(50)])(
    'is rejected if it is malformed: "%s"',
    (text) => {
      expect(() => cursors.read('acct_1~live#0', text)).toThrow(/cursor/);
    },
  );
});

describe('examples of statements and payments', () => {
  it('match their schemas', () => {
    const { readBalance, readLedger, readUsage, receivePayment } = moneyRoutes;
    expect(BalanceResponse.parse(readBalance.success.examples.balance)).toEqual(readBalance.success.examples.balance);
    expect(LedgerPage.parse(readLedger.success.examples.page)).toEqual(readLedger.success.examples.page);
    for (const example of Object.values(readUsage.success.examples)) {
      expect(UsageResponse.parse(example)).toEqual(example);
    }
    const event = PaymentEvent.parse(receivePayment.body.examples.paid);
    expect(CheckoutSession.parse(event.data?.object)).toEqual(event.data?.object);
    for (const example of Object.values(receivePayment.success.examples)) {
      expect(PaymentResponse.parse(example)).toEqual(example);
    }
  });

  it('add up', () => {
    const {
      available_micros: available,
      held_micros: held,
      credited_micros: credited,
      billed_micros: billed,
    } = moneyRoutes.readBalance.success.examples.balance;
    expect(credited - billed).toBe(available + held);
    for (const entry of moneyRoutes.readLedger.success.examples.page.data) {
      expect(entry.credited_micros - entry.billed_micros).toBe(entry.available_micros + entry.held_micros);
      expect(Object.keys(LedgerEntry.parse(entry))).toEqual(Object.keys(entry));
    }
  });

  it('of query parameters are accepted', () => {
    expect(LedgerQuery.parse({ from: '2026-11-01T00:00:00Z', limit: '50', format: 'csv' })).toEqual({
      from: new Date('2026-11-01T00:00:00Z'),
      limit: 50,
      format: 'csv',
    });
    expect(UsageQuery.parse({ group_by: 'agent' })).toEqual({ group_by: 'agent' });
  });
});
