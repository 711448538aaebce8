import type { FailureReport } from '../../models/failure-report.js';

/** Statuses from 400 to 499 that concern the account, the address or the load, and so the requests of all calls. */
const OF_ALL_CALLS = new Set([401, 402, 403, 404, 405, 407, 408, 410, 429]);
/** The same as codes of OpenAI and compatible servers, some with the status 400. */
const CODES_OF_ALL_CALLS =
  /^(invalid_model|model_not_found|invalid_api_key|insufficient_quota|rate_limit|billing|account|organization|server_error)/;
/** Codes of rejected requests in a stream after the status 200: `ResponseError.code` of `openai` 7.57.0, types of vLLM. */
const CODES_OF_REQUEST = /^(400|413|422|invalid_request_error|BadRequestError)$/;
/** Codes with which a socket is closed because of a message: of invalid data, against a policy, too big. */
const REJECTED_BY_CLOSE = new Set([1007, 1008, 1009]);

/** Codes that name the content of one call (ibid.). ElevenLabs sends the last one with the status 403. */
const CODES_OF_CONTENT = /^(invalid_prompt|bio_policy|context_length_exceeded|content_filter|content_against_policy)$/;
/** The body is too large, which only its call decides. */
const TOO_LARGE = 413;

export type Blame = 'provider' | 'request' | 'unclear';

/**
 * Returns who caused a failure. `provider`: the provider failed. Some content, or the rate of one account, may cause that,
 * too, so `reduceCircuit` moves other accounts only after several calls. `request`: the call by its content, such as a prompt
 * that is flagged or too long, which says nothing about other calls. `unclear`: the provider rejected a request and does not
 * say why, such as for a tool that the model rejects, or for a model of the operator that is gone (an unknown model of
 * OpenAI's `/audio/transcriptions` gives 400 without a code: speaches-ai/speaches#17).
 */
export function blameOf({ status, code = '' }: FailureReport): Blame {
  if (isOfAllCalls(code)) return 'provider';
  if (CODES_OF_CONTENT.test(code)) return 'request';
  if (status === TOO_LARGE) return 'request';
  return isRejection(status, code) ? 'unclear' : 'provider';
}

function isRejection(status: number | undefined, code: string): boolean {
  if (status === undefined) return CODES_OF_REQUEST.test(code);
  return (status >= 400 && status < 500 && !OF_ALL_CALLS.has(status)) || REJECTED_BY_CLOSE.has(status);
}

/** Whether the code of a rejected request or session is about the account or its model, which other calls use, too. */
export function isOfAllCalls(code: string): boolean {
  return CODES_OF_ALL_CALLS.test(code);
}
