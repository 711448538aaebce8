/**
 * The forms of Twilio's identifiers, which the simulated carrier shares: two capitals and 32 hexadecimal digits. Twilio
 * writes them in lower case, so capitals are a forgery.
 */
export const ACCOUNT_SID = /^AC[0-9a-f]{32}$/;
export const CALL_SID = /^CA[0-9a-f]{32}$/;
export const STREAM_SID = /^MZ[0-9a-f]{32}$/;
