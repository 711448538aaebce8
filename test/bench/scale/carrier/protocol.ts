/** The settings of the carrier stub, from its environment. */
export interface StubSettings {
  port: number;
  carrierAccountId: string;
  authToken: string;
  temporalAddress: string;
}

/** How every call goes from now on, in ms. */
export interface Course {
  /** From the dial to the answer; absent: the phone rings until an order says otherwise. */
  answerMs?: number;
  /** From the answer to the end; absent: the call stays open until an order ends it. */
  talkMs?: number;
  /** How long the stub takes to respond to a dial and to a webhook. */
  requestMs?: number;
}

/** Ordered reports are sent at this pace, about half of what two cores can handle, so that they do not wait for each other. */
export const REPORT_EVERY_MS = 100;

/** A request of the benchmark to the stub. */
export type StubOrder =
  | { id: number; act: 'follow'; course: Course }
  | { id: number; act: 'expect' | 'answer' | 'end'; callIds: readonly string[] };

/** A status callback that the stub has sent. */
export interface SentCallback {
  callId: string;
  /** In ms since the epoch. */
  sentAt: number;
  /** How long the response took. */
  ms: number;
}

/** The response to an order. */
export interface StubResponse {
  id: number;
  sent?: SentCallback[];
  error?: string;
}

/** A webhook that the stub has received. */
export interface StubDelivery {
  webhookOf: string;
  /** From the status callback that reported the end, ms; absent if the stub did not end the call. */
  afterEndMs?: number;
  /** The whole seconds that the carrier reported; absent if the call was not answered. */
  seconds?: number;
}

/** A callback that the API did not accept, even after repeats. */
export interface StubFailure {
  failed: string;
}

export type StubMessage = StubResponse | StubDelivery | StubFailure;

const VARIABLE = 'BENCH_CARRIER';

export function stubSettings(): StubSettings {
  return JSON.parse(process.env[VARIABLE] ?? '{}') as StubSettings;
}

export function stubEnvironment(settings: StubSettings): NodeJS.ProcessEnv {
  const { PATH, HOME } = process.env;
  return { PATH, HOME, [VARIABLE]: JSON.stringify(settings) };
}
