import type { CheckoutSession } from './schemas.js';

/**
 * Whether a paid checkout session sells a top-up: it came from one of the operator's payment links for top-ups. Anybody
 * can add `client_reference_id` to the address of any payment link, so naming an account proves nothing.
 * @param links ids of these payment links; undefined: every session is a top-up
 */
export function isTopUp(session: Readonly<Record<string, unknown>>, links: readonly string[] | undefined): boolean {
  const link = session['payment_link'];
  return links === undefined || (typeof link === 'string' && links.includes(link));
}

/**
 * The cents that a session credits: what was paid without tax and shipping. `amount_total` includes both, and
 * `amount_subtotal` is before discounts. With prices that include tax, `amount_subtotal` includes it, too, so tax is
 * always subtracted from the total.
 * https://docs.stripe.com/api/checkout/sessions/object, as types/Checkout/Sessions.d.ts of stripe-node has it at commit
 * 046d3d0b; prices that include tax: https://docs.stripe.com/payments/checkout/taxes. Both read on 2026-11-28.
 * @returns 0 or less if nothing was paid for the top-up
 */
export function creditedCents(session: CheckoutSession): number {
  const { amount_total: total, amount_subtotal: subtotal, total_details: details } = session;
  const net = total - (details?.amount_tax ?? 0) - (details?.amount_shipping ?? 0);
  return Math.min(net, subtotal ?? net);
}
