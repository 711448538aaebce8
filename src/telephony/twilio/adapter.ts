import type { Twilio } from 'twilio';
import type { CarrierAccount } from '../../platform/config/config.js';
import { CALLBACK_DELIVERY } from './callback-delivery.js';
import type { MachineDetection } from '../../kernel/conversation/voicemail.js';
import { UnsafeCarrierRequest } from '../errors.js';
import type { Carrier, CarrierApi, CarrierCall, CarrierDescription, DialOutcome, DialRequest } from '../port.js';
import { createTwilioClient, REQUEST_TIMEOUT_MS } from './client.js';
import { toDialOutcome, isCallOver, isUnknownCall, toCarrierError } from './errors.js';
import { CALL_SID } from './identifiers.js';
import { createTwilioCodec } from './media-codec.js';
import { parseAnsweredBy, wholeNumberOf } from './reports.js';
import { TWILIO_CONTRACT } from './routes.js';
import { isSignedForm, isSignedUpgrade, mayBeSigned, mayBeSignedUpgrade } from './signed-forms.js';
import { renderTwiml } from './twiml.js';

/** Maximum calls per list, far more than two numbers can have within about a minute. */
const PAGE_SIZE = 100;

type Call = Awaited<ReturnType<ReturnType<Twilio['calls']>['fetch']>>;

interface TwilioDeps {
  account: CarrierAccount;
  publicBaseUrl: string;
  timeoutMs?: number;
}

/** Creates the carrier for an account with Twilio's API, at Twilio or the simulated carrier. */
export function createTwilioCarrier(deps: TwilioDeps & { streamUrl: string }): Carrier {
  const { account } = deps;
  return {
    ...createTwilioApi(deps),
    contract: TWILIO_CONTRACT,
    mayBeSigned,
    isSigned: (request) => isSignedForm(account, request),
    mayAdmitStream: mayBeSignedUpgrade,
    admitsStream: (upgrade) => isSignedUpgrade(account, upgrade),
    render: (instruction) => renderTwiml(deps, instruction),
    createCodec: createTwilioCodec,
  };
}

export const twilioCarrier: CarrierDescription<'twilio'> = { kind: 'twilio', create: createTwilioCarrier };

/** Twilio's REST API. */
function createTwilioApi(deps: TwilioDeps): CarrierApi {
  let client: Promise<Twilio> | undefined;
  const isCallId = (text: string) => CALL_SID.test(text);
  const getClient = () => (client ??= createTwilioClient(deps.account, deps.timeoutMs ?? REQUEST_TIMEOUT_MS));

  async function withClient<T>(send: (client: Twilio) => Promise<T>): Promise<T> {
    try {
      return await send(await getClient());
    } catch (error) {
      throw error instanceof UnsafeCarrierRequest ? error : toCarrierError(error);
    }
  }

  /** Returns the client of one call. @throws UnsafeCarrierRequest when the identifier is not a call identifier */
  function requireCall(twilio: Twilio, carrierSid: string) {
    if (!isCallId(carrierSid)) throw new UnsafeCarrierRequest();
    return twilio.calls(carrierSid);
  }

  /** Updates a call in progress. Succeeds if the call has already ended. */
  async function updateCall(carrierSid: string, params: { status?: 'completed'; timeLimit?: number }): Promise<void> {
    try {
      await withClient((twilio) => requireCall(twilio, carrierSid).update(params));
    } catch (error) {
      if (!isCallOver(toCarrierError(error))) throw error;
    }
  }

  return {
    kind: deps.account.kind,
    capabilities: { canChangeTimeLimit: true },
    isCallId,

    async dial(request: DialRequest): Promise<DialOutcome> {
      const callUrl = `${deps.publicBaseUrl}/carrier/calls/${encodeURIComponent(request.callId)}`;
      try {
        const call = await withClient((twilio) =>
          twilio.calls.create({
            to: request.to,
            from: request.from,
            url: `${callUrl}/twiml`,
            // If one response is lost, for example to a proxy that restarts, the call continues after a second request.
            fallbackUrl: `${callUrl}/fallback`,
            statusCallback: `${callUrl}/status${CALLBACK_DELIVERY}`,
            statusCallbackEvent: ['initiated', 'answered', 'completed'],
            timeout: request.ringTimeoutSeconds,
            timeLimit: request.timeLimitSeconds,
            ...detectionParams(request.machineDetection, `${callUrl}/amd${CALLBACK_DELIVERY}`),
          }),
        );
        // A successful response without a call identifier may mean that a call was placed.
        if (!isCallId(call.sid)) return { outcome: 'ambiguous' };
        return { outcome: 'accepted', carrierSid: call.sid, ...queueTime(call.queueTime) };
      } catch (error) {
        return toDialOutcome(error);
      }
    },

    hangUp: (carrierSid) => updateCall(carrierSid, { status: 'completed' }),

    limitTo: (carrierSid, seconds) => updateCall(carrierSid, { timeLimit: seconds }),

    async fetch(carrierSid) {
      try {
        return toCarrierCall(await withClient((twilio) => requireCall(twilio, carrierSid).fetch()));
      } catch (error) {
        if (isUnknownCall(toCarrierError(error))) return undefined;
        throw error;
      }
    },

    async findPlaced({ to, from, since }) {
      // A queued call has no start time yet, so a list filtered by start time does not include it. Queued calls are
      // read first: if a call leaves the queue between the two requests, the second list contains it. Uses `page`,
      // because `list` would not report errors of later pages.
      const queued = await withClient((twilio) =>
        twilio.calls.page({ to, from, status: 'queued', pageSize: PAGE_SIZE }),
      );
      const startTimeAfter = new Date(since);
      const started = await withClient((twilio) =>
        twilio.calls.page({ to, from, startTimeAfter, pageSize: PAGE_SIZE }),
      );
      // Leave out the calls that a transfer of another call has placed (`<Dial>`).
      const calls = [...queued.instances, ...started.instances].filter(({ parentCallSid }) => !parentCallSid);
      // Calls without valid identifiers cannot be told apart, so throw an error instead of returning an incomplete
      // list.
      if (!calls.every(({ sid }) => isCallId(sid)))
        throw new Error('The carrier listed a call without a valid CallSid.');
      const found = new Map<string, CarrierCall>();
      for (const call of calls) found.set(call.sid, toCarrierCall(call));
      const sinceSecond = Math.floor(since / 1_000) * 1_000;
      return [...found.values()]
        .filter((call) => (call.createdAt ?? since) >= sinceSecond)
        .toSorted((a, b) => (b.createdAt ?? 0) - (a.createdAt ?? 0));
    },
  };
}

/**
 * Detection is asynchronous: the callee hears the agent while the carrier analyzes the audio. The carrier charges each
 * call for it.
 */
function detectionParams(wanted: MachineDetection | undefined, callback: string) {
  if (wanted === undefined) return {};
  return {
    machineDetection: wanted === 'answer' ? 'Enable' : 'DetectMessageEnd',
    asyncAmd: 'true',
    asyncAmdStatusCallback: callback,
  };
}

/** Reads how long the call will be queued before it is dialed, because more calls were placed than the rate allows. */
function queueTime(text: unknown): { queuedMs?: number } {
  const queuedMs = Number(text);
  return Number.isSafeInteger(queuedMs) && queuedMs > 0 ? { queuedMs } : {};
}

function toCarrierCall(call: Call): CarrierCall {
  const answeredBy = parseAnsweredBy(call.answeredBy ?? undefined);
  return {
    carrierSid: call.sid,
    direction: call.direction === 'inbound' ? 'inbound' : 'outbound',
    to: call.to,
    status: call.status,
    ...optional('forwardedFrom', call.forwardedFrom || undefined),
    ...optional('createdAt', toMillis(call.dateCreated)),
    ...optional('startedAt', toMillis(call.startTime)),
    ...optional('endedAt', toMillis(call.endTime)),
    ...optional('durationSeconds', wholeNumberOf(call.duration ?? undefined)),
    ...optional('answeredBy', answeredBy),
  };
}

/** Converts a date to ms. The client returns null for a missing date and an unparsable text unchanged. */
function toMillis(value: unknown): number | undefined {
  return value instanceof Date && !Number.isNaN(value.getTime()) ? value.getTime() : undefined;
}

function optional<K extends keyof CarrierCall>(key: K, value: CarrierCall[K] | undefined): Partial<CarrierCall> {
  return value === undefined ? {} : { [key]: value };
}
