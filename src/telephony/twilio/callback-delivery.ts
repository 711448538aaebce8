/**
 * Delivery of status callbacks: three retries on server errors and on timeouts of connecting or reading. Without it a
 * callback that fails once is lost. The fragment is the carrier's own notation; it is neither sent nor signed.
 */
export const CALLBACK_DELIVERY = '#rc=3&rp=5xx,ct,rt';
