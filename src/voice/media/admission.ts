import type { Config } from '../../platform/config/config.js';
import { createFairQueues } from '../../platform/fair-queue.js';
import { CALL_ID_PATTERN } from '../../kernel/ids.js';
import type { CallReader, StreamedCall } from '../call-reader.js';
import { accountsOfMode, findOfAccount } from '../../telephony/accounts/account-of-call.js';
import type { CarrierIdentity } from '../../telephony/callbacks.js';
import type { Carriers, StreamUpgrade } from '../../telephony/port.js';
import { createCarrierBindings } from '../../telephony/carrier-bindings.js';
import { createConversationResults } from '../results/conversation-results.js';
import type { VoiceDatabase } from '../database.js';
import type { ConversationResultDocument } from '../results/model.js';
import { createAccountLookUps } from './account-look-ups.js';
import type { StreamOwner } from './stream-slots.js';

const UNSIGNED = 'no valid carrier signature';
/** Up to so many accounts, a comparison with the tokens of all of them costs less than a read from the database. */
const FEW_ACCOUNTS = 6;
/**
 * Maximum decisions at once about the streams of one carrier account that shares the process with others. More of them would
 * take the connections to the database, and the slots of streams, from the calls of everybody else.
 */
const MAX_DECIDED_AT_ONCE = 10;

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

/** The sender of an upgrade request, and what it gets. */
interface StreamSender {
  /** The client's address, as returned by `clientOf`. */
  client: string;
  /** Whether the sender still waits for the response. */
  isOpen: () => boolean;
  /** Called first when the carrier's signature is valid. Returns false if another stream of the call is arriving. */
  arrive: () => boolean;
  /** Called then. Returns false if there are too many streams. */
  acquire: () => boolean;
  /** Called once the call may have a stream. Returns false if its mode or account has too many streams. */
  assign: (owner: StreamOwner) => boolean;
}

/**
 * Decides whether a media stream may be opened for a call. Reads the call once; its audio then needs no database.
 * Verifies the carrier's signature first. If there are many accounts, looks up that of the call, so that only its tokens
 * are tried. An unknown call and an invalid signature get the same response, so that a forged request learns nothing.
 */
export function createAdmission(deps: {
  config: Pick<Config, 'streamUrl'>;
  carriers: Carriers;
  database: VoiceDatabase;
  calls: CallReader;
}) {
  const { config, carriers } = deps;
  const all = [...accountsOfMode(carriers, 'live'), ...accountsOfMode(carriers, 'test')];
  const isShared = accountsOfMode(carriers, 'live').length > 1;
  const lookUps = createAccountLookUps(deps.calls);
  const decisions = createFairQueues({ maxRunning: MAX_DECIDED_AT_ONCE });
  const admitCall = createCallAdmission(deps);

  /** Excludes most forged requests without a read. */
  function mayBeSigned(asked: StreamUpgrade): boolean {
    if (all.length <= FEW_ACCOUNTS) return all.some((carrier) => carrier.admitsStream(asked));
    return all.some((carrier) => carrier.mayAdmitStream(asked));
  }

  /** @throws the database's error if it is unavailable */
  return async function admit(
    callId: string,
    upgrade: Pick<StreamUpgrade, 'rest' | 'headers'>,
    sender: StreamSender,
  ): Promise<Admission> {
    const asked = { ...upgrade, url: `${config.streamUrl}/${callId}` };
    const unsigned = upgrade.rest === '' ? reject(403, UNSIGNED) : reject(404, 'no such stream');
    if (!mayBeSigned(asked)) return unsigned;
    const found = await lookUps.find(callId, sender);
    if (found === 'too many') return reject(503, 'too many media streams');
    const signer = found === null ? undefined : findOfAccount(carriers, found, ({ account }) => account?.id);
    if (signer?.admitsStream(asked) !== true) return unsigned;
    async function decide(): Promise<Admission> {
      if (!sender.isOpen()) return unsigned;
      if (!sender.arrive()) return reject(409, 'the call already has a media stream');
      if (!sender.acquire()) return reject(503, 'too many media streams');
      return admitCall(callId, { assign: sender.assign, carrierOf: () => signer });
    }
    const account = isShared ? signer.account?.id : undefined;
    return account === undefined ? decide() : decisions.run(account, {}, decide);
  };
}

/** Decides whether a call may have a media stream, for a sender whose right to open streams is verified. */
export function createCallAdmission({ database, calls }: { database: VoiceDatabase; calls: CallReader }) {
  const bindings = createCarrierBindings(database);
  const results = createConversationResults(database, calls);

  /**
   * @param p.assign as in `StreamSender`
   * @param p.carrierOf the sender's carrier of a call; undefined if the sender may not open streams of this call
   */
  return async function admitCall(
    callId: string,
    p: {
      assign: (owner: StreamOwner) => boolean;
      carrierOf: (call: StreamedCall) => Pick<CarrierIdentity, 'kind'> | undefined;
    },
  ): Promise<Admission> {
    const [request, binding, isFinal, result] = await Promise.all([
      calls.find(callId),
      bindings.find(callId),
      calls.isFinal(callId),
      results.findHead(callId),
    ]);
    if (request === null) return reject(404, 'no such call');
    const carrier = p.carrierOf(request);
    if (carrier === undefined) return reject(403, UNSIGNED);
    if (isFinal) return reject(404, 'the call is over');
    if (binding === null || binding.closed === true) return reject(404, 'no carrier call is bound to the call');
    if ((binding.carrier ?? carrier.kind) !== carrier.kind) return reject(404, 'the call is with another carrier');
    if (result?.endedAt !== undefined) return reject(409, 'the conversation is over');
    // Only now, because the transcript of an ended call may be long.
    const earlier = result === null ? null : await results.find(callId);
    // Last, because assigning a slot can end a stream of another account.
    if (!p.assign(request)) return reject(503, `too many media streams of ${request.mode} calls`);
    const { carrierSid, resumptions: granted = 0 } = binding;
    return { admitted: true, request, carrierSid, granted, earlier };
  };
}

function reject(status: 403 | 404 | 409 | 503, why: string): Admission {
  return { admitted: false, status, why };
}
