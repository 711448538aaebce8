import { VERSION } from '../../kernel/version.js';

/** User-Agent of outgoing requests. */
export const USER_AGENT = `callwright/${VERSION}`;
