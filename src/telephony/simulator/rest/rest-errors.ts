/** An error response of the REST API. */
export class RestError extends Error {
  override readonly name = 'RestError';

  constructor(
    readonly status: number,
    readonly code: number,
    message: string,
  ) {
    super(message);
  }

  /** The response body in Twilio's format. */
  toBody(): string {
    return JSON.stringify({
      code: this.code,
      message: this.message,
      more_info: `https://www.twilio.com/docs/errors/${this.code}`,
      status: this.status,
    });
  }
}

const badRequest = (code: number, message: string) => new RestError(400, code, message);

/** Errors with Twilio's status codes, error codes and messages. */
export const REST_ERRORS = {
  authenticate: () => new RestError(401, 20003, 'Authenticate'),
  notFound: (path: string) => new RestError(404, 20404, `The requested resource ${path} was not found`),
  methodNotAllowed: () => new RestError(405, 20004, 'Method not allowed'),
  tooManyRequests: () => new RestError(429, 20429, 'Too Many Requests'),
  /** Twilio's dictionary has the message, but not the HTTP status, which is assumed. */
  concurrencyExceeded: () => badRequest(10004, 'Call concurrency limit exceeded'),
  internal: () => new RestError(500, 20500, 'An internal server error has occurred'),
  notOver: () => new RestError(409, 20009, 'Cannot delete this resource before it is complete'),
  invalidParameter: (name: string) => badRequest(20001, `Invalid parameter ${name}`),
  noTo: () => badRequest(21201, "No 'To' number is specified"),
  noUrl: () => badRequest(21205, 'Url parameter is required and must be an http or https URL'),
  invalidTimeout: () => badRequest(21208, 'Invalid Timeout'),
  fromNotOurs: (from: string) =>
    badRequest(21210, `Source phone number not yet verified for this account: ${from}. ` + 'Use a number of yours.'),
  invalidTo: (to: string) => badRequest(21211, `The 'To' number ${to} is not a valid phone number.`),
  invalidFrom: (from: string) => badRequest(21212, `The 'From' number ${from} is not a valid phone number.`),
  noFrom: () => badRequest(21213, "No 'From' number is specified"),
  unroutable: () => badRequest(21214, "'To' phone number cannot be reached"),
  noPermission: () => badRequest(21215, 'Account not authorized to call this region.'),
  blocked: () => badRequest(21216, 'Account not allowed to call this number'),
  invalidPhone: (to: string) => badRequest(21217, `Phone number ${to} does not appear to be valid`),
  invalidStatus: () => badRequest(21218, 'Invalid Status'),
  /** As a real account answered: twilio-node's RestException in github.com/bmh1cker/Termux-Call-Flooder/issues/1. */
  unverifiedTo: (to: string) =>
    badRequest(21219, `The number ${to} is unverified. Trial accounts may only make calls to verified numbers.`),
  notInProgress: () => badRequest(21220, 'Call is not in-progress. Cannot redirect.'),
  invalidEvent: () => badRequest(21626, "Invalid 'StatusCallbackEvent' parameter"),
  invalidStatusCallback: () => badRequest(21609, "Invalid 'StatusCallback' URL"),
};
