import { fetch, type Dispatcher } from 'undici';
import { networkCodeOf, parseJson, readText } from '../../models/http-api.js';

/** The answer to a question, or why there is none. */
export type ProviderAnswer =
  /** `body` is undefined if the response is not JSON. */
  { status: number; body: unknown } | { status: undefined; why: string };

/** Sends a GET request to a provider. Never throws. */
export type Ask = (url: string, headers: Record<string, string>) => Promise<ProviderAnswer>;

/** Two ways to ask, with a short and a long limit. */
export interface Asking {
  ask: Ask;
  askLonger: Ask;
  /** For questions that only an adapter can ask. `signal` has the short limit. */
  means: { dispatcher: Dispatcher; signal: AbortSignal };
}

/** A list of 500 voices with their samples has about 3 MB. */
const MAX_BODY_BYTES = 8_000_000;
const tooLong = () => new Error('response too long');

/** @param deps.signal ends every request, and with it the wait for its body */
export function createAsk(deps: { dispatcher: Dispatcher; signal: AbortSignal }): Ask {
  const { dispatcher, signal } = deps;
  return async (url, headers) => {
    try {
      const response = await fetch(url, {
        headers: { accept: 'application/json', ...headers },
        // A redirect could send the key to another server.
        redirect: 'error',
        dispatcher,
        signal,
      });
      return { status: response.status, body: parseJson(await readText(response.body, MAX_BODY_BYTES, tooLong)) };
    } catch (error) {
      return {
        status: undefined,
        why: signal.aborted ? 'no response in time' : (networkCodeOf(error) ?? 'failed request'),
      };
    }
  };
}

/** Whether an answer is one of a wrong address: none at all, no such path, or a web page. */
export function isFromElsewhere(answer: ProviderAnswer): boolean {
  return answer.status === undefined || answer.status === 404 || (answer.status === 200 && answer.body === undefined);
}

/** The address of the HTTP interface that belongs to a WebSocket address. */
export function httpUrlOf(socketUrl: string): string {
  return socketUrl.replace(/^ws/, 'http');
}

/** Says in a few words, for the log, why an answer does not help. */
export function reasonIn(answer: ProviderAnswer): string {
  if (answer.status === undefined) return answer.why;
  return answer.status === 200 ? 'unexpected response' : `status ${answer.status}`;
}
