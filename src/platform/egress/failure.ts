/** Why a request failed. Webhooks store it with the attempt. */
export type EgressFailure =
  /** The URL is not public, or its name resolves to an address that is not. */
  | 'blocked'
  | 'timeout'
  | 'dns_failed'
  | 'connection_refused'
  | 'connection_lost'
  | 'tls_failed'
  /** A 3xx status: redirects are not followed. */
  | 'redirect'
  /** Any other status than 2xx. */
  | 'status'
  | 'response_too_large'
  | 'invalid_response';

const FAILURE_BY_CODE: Readonly<Record<string, EgressFailure>> = {
  ADDRESS_BLOCKED: 'blocked',
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  ETIMEDOUT: 'timeout',
  ENOTFOUND: 'dns_failed',
  EAI_AGAIN: 'dns_failed',
  EAI_FAIL: 'dns_failed',
  ECONNREFUSED: 'connection_refused',
  EHOSTUNREACH: 'connection_refused',
  ENETUNREACH: 'connection_refused',
  EADDRNOTAVAIL: 'connection_refused',
  EPROTO: 'tls_failed',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'tls_failed',
  SELF_SIGNED_CERT_IN_CHAIN: 'tls_failed',
  INVALID_CA: 'tls_failed',
  INVALID_PURPOSE: 'tls_failed',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'tls_failed',
  UNABLE_TO_GET_ISSUER_CERT: 'tls_failed',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'tls_failed',
  TOO_MANY_BYTES: 'response_too_large',
  UND_ERR_RES_EXCEEDED_MAX_SIZE: 'response_too_large',
  UND_ERR_HEADERS_OVERFLOW: 'response_too_large',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'invalid_response',
};

/** Classifies the error of a request. The library's message is dropped, because it may contain the URL. */
export function classifyFailure(error: unknown): EgressFailure {
  // Check name and code, because `instanceof` fails for errors that the runtime creates in another realm.
  const { name, code } = (error ?? {}) as { name?: unknown; code?: unknown };
  if (name === 'TimeoutError') return 'timeout';
  if (name === 'HTTPParserError') return 'invalid_response';
  if (typeof code !== 'string') return 'connection_lost';
  if (code.startsWith('ERR_TLS_') || code.startsWith('ERR_SSL_') || code.startsWith('CERT_')) return 'tls_failed';
  return FAILURE_BY_CODE[code] ?? 'connection_lost';
}
