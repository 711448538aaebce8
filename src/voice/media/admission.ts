import type { Config } from '../../platform/config/config.js';
import { CALL_ID_PATTERN, type Mode } from '../../kernel/ids.js';
import type { CallReader, StreamedCall } from '../call-reader.js';
import type { CarrierIdentity } from '../../telephony/callbacks.js';
import type { Carriers, StreamUpgrade } from '../../telephony/port.js';
import { createCarrierBindings } from '../../telephony/carrier-bindings.js';
import { createConversationResults } from '../results/conversation-results.js';
import type { VoiceDatabase } from '../database.js';
import type { ConversationResultDocument } from '../results/model.js';
import type { StreamOwner } from './stream-slots.js';

export type Admission =
  /** `earlier`: the result of the call's earlier streams, whose stream numbers are lower than this stream's. */
  | {
      admitted: true;
      request: StreamedCall;
      carrierSid: string;
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
 * Verifies the carrier's signature before any database read, so that other clients cause no reads and learn nothing.
 */
export function createAdmission(deps: {
  config: Pick<Config, 'streamUrl'>;
  carriers: Carriers;
  database: VoiceDatabase;
  calls: CallReader;
}) {
  const { config, carriers } = deps;
  const admitCall = createCallAdmission(deps);

  /**
   * @param slots.acquire called once a carrier's signature is valid; returns false if there are too many streams
   * @param slots.assign called once the call may have a stream; returns false if its mode or account has too many streams
   * @throws the database's error if it is unavailable
   */
  return async function admit(
    callId: string,
    upgrade: Pick<StreamUpgrade, 'rest' | 'headers'>,
    slots: { acquire: () => boolean; assign: (owner: StreamOwner) => boolean } = {
      acquire: () => true,
      assign: () => true,
    },
  ): Promise<Admission> {
    const asked = { ...upgrade, url: `${config.streamUrl}/${callId}` };
    const isAdmittedBy = (mode: Mode) => carriers[mode].admitsStream(asked);
    if (!isAdmittedBy('live') && !isAdmittedBy('test')) {
      return upgrade.rest === '' ? reject(403, 'no valid carrier signature') : reject(404, 'no such stream');
    }
    if (!slots.acquire()) return reject(503, 'too many media streams');
    return admitCall(callId, {
      assign: slots.assign,
      carrierOf: (mode) => (isAdmittedBy(mode) ? carriers[mode] : undefined),
    });
  };
}

/** Decides whether a call may have a media stream, for a sender whose right to open streams is verified. */
export function createCallAdmission({ database, calls }: { database: VoiceDatabase; calls: CallReader }) {
  const bindings = createCarrierBindings(database);
  const results = createConversationResults(database, calls);

  /**
   * @param p.assign as in {@link createAdmission}
   * @param p.carrierOf the sender's carrier of a mode; undefined if the sender may not open streams of this mode
   */
  return async function admitCall(
    callId: string,
    p: {
      assign: (owner: StreamOwner) => boolean;
      carrierOf: (mode: Mode) => Pick<CarrierIdentity, 'kind'> | undefined;
    },
  ): Promise<Admission> {
    const [request, binding, isFinal, result] = await Promise.all([
      calls.find(callId),
      bindings.find(callId),
      calls.isFinal(callId),
      results.find(callId),
    ]);
    if (request === null) return reject(404, 'no such call');
    const carrier = p.carrierOf(request.mode);
    if (carrier === undefined) return reject(403, 'no valid carrier signature');
    if (isFinal) return reject(404, 'the call is over');
    if (binding === null || binding.closed === true) return reject(404, 'no carrier call is bound to the call');
    if ((binding.carrier ?? carrier.kind) !== carrier.kind) return reject(404, 'the call is with another carrier');
    if (result?.endedAt !== undefined) return reject(409, 'the conversation is over');
    // Last, because assigning a slot can end a stream of another account.
    if (!p.assign(request)) return reject(503, `too many media streams of ${request.mode} calls`);
    const { carrierSid, resumptions: granted = 0 } = binding;
    return { admitted: true, request, carrierSid, granted, earlier: result };
  };
}

function reject(status: 403 | 404 | 409 | 503, why: string): Admission {
  return { admitted: false, status, why };
}
