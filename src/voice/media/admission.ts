import type { Config } from '../../platform/config/config.js';
import { CALL_ID_PATTERN, type Mode } from '../../kernel/ids.js';
import type { CallReader, StreamedCall } from '../call-reader.js';
import type { Carrier, Carriers, StreamUpgrade } from '../../telephony/port.js';
import { createCarrierBindings } from '../../telephony/carrier-bindings.js';
import { createConversationResults } from '../results/conversation-results.js';
import type { VoiceDatabase } from '../database.js';
import type { ConversationResultDocument } from '../results/model.js';
import type { StreamOwner } from './stream-places.js';

export type Admission =
  /** `earlier`: the result of the call's earlier streams; this stream's `start` must carry a higher stream number. */
  | {
      admitted: true;
      request: StreamedCall;
      carrierSid: string;
      carrier: Carrier;
      /** The highest stream number that the call's workflow has granted; 0: only the first stream. */
      granted: number;
      earlier: ConversationResultDocument | null;
    }
  | { admitted: false; status: 403 | 404 | 409 | 503; why: string };

/**
 * Parses the path of a media stream request under the configured stream URL: the call id, and the rest of the path.
 * @returns undefined if the path does not name a call
 */
export function streamOfPath(streamUrl: string, path: string): { callId: string; rest: string } | undefined {
  const prefix = `${new URL(streamUrl).pathname.replace(/\/$/, '')}/`;
  if (!path.startsWith(prefix)) return undefined;
  const [, callId = '', rest = ''] = /^([^/?]*)(.*)$/s.exec(path.slice(prefix.length)) ?? [];
  return CALL_ID_PATTERN.test(callId) ? { callId, rest } : undefined;
}

/**
 * Decides whether a media stream may be opened for a call. Reads the call once; its audio then needs no database.
 * Verifies the carrier's signature before any database read, so that strangers cause no reads and learn nothing.
 */
export function createAdmission(deps: {
  config: Pick<Config, 'streamUrl'>;
  carriers: Carriers;
  database: VoiceDatabase;
  calls: CallReader;
}) {
  const { config, carriers, database, calls } = deps;
  const bindings = createCarrierBindings(database);
  const results = createConversationResults(database, calls);

  /**
   * @param room.take called once a carrier's signature is valid; false: no room for more streams
   * @param room.keep called once the call is known; false: no room for its mode, or for its account's test calls
   * @throws the database's error if it is unavailable
   */
  return async function admit(
    callId: string,
    upgrade: Pick<StreamUpgrade, 'rest' | 'headers'>,
    room: { take: () => boolean; keep: (owner: StreamOwner) => boolean } = { take: () => true, keep: () => true },
  ): Promise<Admission> {
    const asked = { ...upgrade, url: `${config.streamUrl}/${callId}` };
    const isAdmittedBy = (mode: Mode) => carriers[mode].admitsStream(asked);
    if (!isAdmittedBy('live') && !isAdmittedBy('test')) {
      return upgrade.rest === '' ? refusal(403, 'no valid carrier signature') : refusal(404, 'no such stream');
    }
    if (!room.take()) return refusal(503, 'no more streams are taken');

    const [request, binding, isFinal, result] = await Promise.all([
      calls.find(callId),
      bindings.find(callId),
      calls.isFinal(callId),
      results.find(callId),
    ]);
    if (request === null) return refusal(404, 'no such call');
    const carrier = carriers[request.mode];
    if (!isAdmittedBy(request.mode)) return refusal(403, 'no valid carrier signature');
    if (!room.keep(request)) return refusal(503, `no more streams of ${request.mode} calls are taken`);
    if (isFinal) return refusal(404, 'the call is over');
    if (binding === null || binding.closed === true) return refusal(404, 'the call has no call of the carrier');
    if ((binding.carrier ?? carrier.kind) !== carrier.kind) return refusal(404, 'the call is with another carrier');
    if (result?.endedAt !== undefined) return refusal(409, 'the conversation is over');
    const { carrierSid, resumptions: granted = 0 } = binding;
    return { admitted: true, request, carrierSid, carrier, granted, earlier: result };
  };
}

function refusal(status: 403 | 404 | 409 | 503, why: string): Admission {
  return { admitted: false, status, why };
}
