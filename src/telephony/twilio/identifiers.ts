/**
 * Formats of Twilio's identifiers: two capital letters and 32 hexadecimal digits. The simulated carrier uses the same.
 * Twilio uses lower-case digits only, so upper case is rejected as forged.
 */
export const ACCOUNT_SID = /^AC[0-9a-f]{32}$/;
export const CALL_SID = /^CA[0-9a-f]{32}$/;
export const STREAM_SID = /^MZ[0-9a-f]{32}$/;
