/**
 * Options for the delivery of status callbacks: three retries after server errors and after connect and read timeouts.
 * Without them, a callback that fails once is lost. The fragment is Twilio's syntax of connection overrides; it is
 * neither sent nor signed.
 */
export const CALLBACK_DELIVERY = '#rc=3&rp=5xx,ct,rt';
