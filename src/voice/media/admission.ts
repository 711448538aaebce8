import { isValidSignature } from '../../telephony/twilio/signature.js';
import type { Config } from '../../platform/config/config.js';
import { CALL_ID_PATTERN, type Mode } from '../../kernel/ids.js';
import type { CallReader, StreamedCall } from '../call-reader.js';
import { createCarrierBindings } from '../../telephony/carrier-bindings.js';
import { createConversationResults } from '../results/conversation-results.js';
import type { VoiceDatabase } from '../database.js';
import type { ConversationResultDocument } from '../results/model.js';

export type Admission =
  /** `earlier`: what the call's streams before this one left; the stream's `start` must say that it follows them. */
  | {
      admitted: true;
      request: StreamedCall;
      carrierSid: string;
      /** The highest number that the call's workflow granted to a stream; 0: only the first stream is. */
      granted: number;
      earlier: ConversationResultDocument | null;
    }
  | { admitted: false; status: 403 | 404 | 409 | 503; why: string };

/** The id of the call whose stream a request path names, under the path of the configured stream URL; else undefined. */
export function callIdOfPath(streamUrl: string, path: string): string | undefined {
  const prefix = `${new URL(streamUrl).pathname.replace(/\/$/, '')}/`;
  const callId = path.startsWith(prefix) ? path.slice(prefix.length) : '';
  return CALL_ID_PATTERN.test(callId) ? callId : undefined;
}

/**
 * Decides whether a stream may be opened for a call. Reads the call once; afterwards its audio needs no database.
 * The signature is checked before the database is asked, so that strangers cost no reads and learn nothing.
 */
export function createAdmission(deps: { config: Config; database: VoiceDatabase; calls: CallReader }) {
  const { config, database, calls } = deps;
  const bindings = createCarrierBindings(database);
  const results = createConversationResults(database, calls);

  /**
   * @param room.take called once the signature is known to be valid; false: no more streams are taken
   * @param room.keep called once the call is known; false: no more streams of its mode are taken
   * @throws the database's error when it is away
   */
  return async function admit(
    callId: string,
    signature: string | undefined,
    room: { take: () => boolean; keep: (mode: Mode) => boolean } = { take: () => true, keep: () => true },
  ): Promise<Admission> {
    const url = `${config.streamUrl}/${callId}`;
    const isSignedBy = (authToken: string) => isValidSignature({ authToken, signature, url, params: {} });
    const { live, test } = config.carriers;
    if (!isSignedBy(live.authToken) && !isSignedBy(test.authToken)) return refusal(403, 'no valid carrier signature');
    if (!room.take()) return refusal(503, 'no more streams are taken');

    const [request, binding, isFinal, result] = await Promise.all([
      calls.find(callId),
      bindings.find(callId),
      calls.isFinal(callId),
      results.find(callId),
    ]);
    if (request === null) return refusal(404, 'no such call');
    if (!isSignedBy(config.carriers[request.mode].authToken)) return refusal(403, 'no valid carrier signature');
    if (!room.keep(request.mode)) return refusal(503, `no more streams of ${request.mode} calls are taken`);
    if (isFinal) return refusal(404, 'the call is over');
    if (binding === null || binding.closed === true) return refusal(404, 'the call has no call of the carrier');
    if (result?.endedAt !== undefined) return refusal(409, 'the conversation is over');
    const { carrierSid, resumptions: granted = 0 } = binding;
    return { admitted: true, request, carrierSid, granted, earlier: result };
  };
}

function refusal(status: 403 | 404 | 409 | 503, why: string): Admission {
  return { admitted: false, status, why };
}
