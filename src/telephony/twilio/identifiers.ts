/**
 * The formats of Twilio's identifiers, which the simulated carrier shares: two capital letters and 32 hexadecimal
 * digits. Twilio uses lower-case digits only, so reject upper case as forged.
 */
export const ACCOUNT_SID = /^AC[0-9a-f]{32}$/;
export const CALL_SID = /^CA[0-9a-f]{32}$/;
export const STREAM_SID = /^MZ[0-9a-f]{32}$/;
