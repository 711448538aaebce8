/**
 * Delivery of status callbacks: three retries after server errors and after connect and read timeouts. Without it, a
 * callback that fails once is lost. The fragment is Twilio's connection override syntax; it is neither sent nor signed.
 */
export const CALLBACK_DELIVERY = '#rc=3&rp=5xx,ct,rt';
