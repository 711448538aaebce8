import type { Deepgram } from '@deepgram/sdk';
import type { V1Client } from '@deepgram/sdk/listen/v1';
import type { V2Client } from '@deepgram/sdk/listen/v2';
import type { ListenQuery } from '../../../src/voice/engines/pipeline/stt/deepgram/deepgram-account.js';
import type {
  FluxMessage,
  FluxQuery,
  SentTurnInfo,
} from '../../../src/voice/engines/pipeline/stt/deepgram/deepgram-flux.js';
import type {
  NovaMessage,
  NovaQuery,
  SentNovaResults,
} from '../../../src/voice/engines/pipeline/stt/deepgram/deepgram-nova.js';
import type { FakeFluxMessage, FakeNovaMessage } from '../../integration/voice/fakes/deepgram.js';
import type { Nothing, Reads, Sends } from './compare.js';

// The key is sent in a header.
type NovaParameters = Omit<V1Client.ConnectArgs, 'Authorization'>;
type FluxParameters = Omit<V2Client.ConnectArgs, 'Authorization'>;
type Listen = typeof Deepgram.listen;
/** The SDK declares message types as open sets, so that any text would be one. */
type Known<Types> = Types[keyof Types];
type NovaMessages = { type: Known<Listen['ListenV1Finalize']['Type']> };
type FluxMessages = { type: Known<Listen['ListenV2CloseStream']['Type']> } | Deepgram.listen.ListenV2ForceEndTurn;
type NovaAnswers =
  | Deepgram.listen.ListenV1Results
  | Deepgram.listen.ListenV1Metadata
  | Deepgram.listen.ListenV1UtteranceEnd
  | Deepgram.listen.ListenV1SpeechStarted;
type FluxAnswers =
  | Deepgram.listen.ListenV2Connected
  | Deepgram.listen.ListenV2TurnInfo
  | Deepgram.listen.ListenV2FatalError;

export type NovaQueries = Nothing<Sends<ListenQuery & NovaQuery, NovaParameters>>;
export type NovaControls = Nothing<Sends<NovaMessage, NovaMessages>>;
export type NovaResults = Nothing<Reads<Deepgram.listen.ListenV1Results, SentNovaResults>>;
export type FluxQueries = Nothing<Sends<ListenQuery & FluxQuery, FluxParameters>>;
export type FluxControls = Nothing<Sends<FluxMessage, FluxMessages>>;
export type FluxTurns = Nothing<Reads<Deepgram.listen.ListenV2TurnInfo, SentTurnInfo>>;

export type FakeNova = Nothing<Sends<FakeNovaMessage, NovaAnswers>>;
export type FakeFlux = Nothing<Sends<FakeFluxMessage, FluxAnswers>>;

/** These must not compile. */
export type Wrong = [
  // @ts-expect-error The parameter belongs to the other protocol.
  Nothing<Sends<ListenQuery & { eot_threshold: string }, NovaParameters>>,
  // @ts-expect-error The parameter belongs to the other protocol.
  Nothing<Sends<ListenQuery & { utterance_end_ms: string }, FluxParameters>>,
  // @ts-expect-error Flux has no such message.
  Sends<{ type: 'KeepAlive' }, FluxMessages>,
  // @ts-expect-error Nova has no such message.
  Sends<{ type: 'ForceEndTurn' }, NovaMessages>,
  // @ts-expect-error The decoder requires a field that may be absent.
  Reads<Deepgram.listen.ListenV1Results, { is_final: boolean }>,
];
