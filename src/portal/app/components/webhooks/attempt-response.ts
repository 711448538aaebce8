import { labelOf } from '../../labels';

interface Outcome {
  http_status?: number | undefined;
  error?: string | undefined;
}

/** Names of failures, by their class. */
const FAILURES: Readonly<Record<string, string>> = {
  blocked: 'Not sent: URL not allowed',
  timeout: 'No response within 5 seconds',
  dns_failed: 'Host name not resolved',
  tls_failed: 'No secure connection (TLS)',
  redirect: 'redirects are not followed',
  invalid_response: 'Not a valid HTTP response',
};

/** Remedies for failures whose name does not suggest one. */
const REMEDIES: Readonly<Record<string, string>> = {
  blocked:
    'No request was sent, because the port or the address of the URL is not allowed. Use a public host, and port 443, 80 or another one that browsers do not block. An operator sets the allowed ports with WEBHOOK_PORTS, and allows private networks with WEBHOOK_ALLOW_CIDRS.',
  timeout: 'Your server must respond within 5 seconds. Respond first, and process the event afterwards.',
  dns_failed: 'Check the host name of the URL. It is written in full, without a search domain.',
  tls_failed: 'Check the certificate of your server: its host name, its date, and that its chain is complete.',
  redirect: 'Enter the URL that your server redirects to.',
};

/** Returns the response to an attempt in a few words, or what happened instead. */
export function responseOf({ http_status: status, error }: Outcome): string {
  const failure = error === undefined || error === 'status' ? undefined : (FAILURES[error] ?? labelOf(error));
  if (status === undefined) return failure ?? '–';
  return failure === undefined ? `HTTP ${status}` : `HTTP ${status}: ${lowerFirst(failure)}`;
}

/** Returns what to do about a failed attempt; undefined if its response says it. */
export function remedyOf({ error }: Outcome): string | undefined {
  return error === undefined ? undefined : REMEDIES[error];
}

function lowerFirst(text: string): string {
  return `${text.slice(0, 1).toLowerCase()}${text.slice(1)}`;
}
