import { fetch, type Dispatcher, type Response } from 'undici';

/** The answer to a question, or why there is none. */
export type ProviderAnswer =
  /** `body` is undefined if the response is not JSON. */
  { status: number; body: unknown } | { status: undefined; why: string };

/** Sends a GET request to a provider. Never throws. */
export type Ask = (url: string, headers: Record<string, string>) => Promise<ProviderAnswer>;

/** A list of 500 voices with their samples has about 3 MB. */
const MAX_BODY_BYTES = 8_000_000;

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
      return { status: response.status, body: jsonIn(await textOf(response)) };
    } catch (error) {
      return { status: undefined, why: signal.aborted ? 'no response in time' : reasonFor(error) };
    }
  };
}

/** Says in a few words, for the log, why an answer does not help. */
export function reasonIn(answer: ProviderAnswer): string {
  if (answer.status === undefined) return answer.why;
  return answer.status === 200 ? 'unexpected response' : `status ${answer.status}`;
}

async function textOf({ body }: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of (body ?? []) as AsyncIterable<Uint8Array>) {
    parts.push(part);
    bytes += part.length;
    if (bytes > MAX_BODY_BYTES) throw new Error('response too long');
  }
  return Buffer.concat(parts).toString('utf8');
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Uses codes only, because messages of libraries may contain URLs and headers with keys. */
function reasonFor(error: unknown): string {
  const { cause } = error as { cause?: NodeJS.ErrnoException };
  return cause?.code ?? 'failed request';
}
