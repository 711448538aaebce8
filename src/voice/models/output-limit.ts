const NAME = 'max_completion_tokens';
/** OpenAI's models that think refuse it, and some other servers know nothing else. */
const OLDER_NAME = 'max_tokens';
const MAX_REFUSAL_BYTES = 8_192;

interface Refusal {
  status: number;
  body: unknown;
}

/**
 * The limit of what a chat model may write, in tokens, under the name that its server takes: OpenAI's present one until
 * a server refuses that by name.
 */
export function createOutputLimit(tokens: number) {
  let name = NAME;
  return {
    fields: () => ({ [name]: tokens }),
    /**
     * Reads the body of a 400 or 422 only.
     * @returns whether the server does not know the name, so that it is to be asked again under the older one
     */
    async isRefused({ status, body }: Refusal): Promise<boolean> {
      if (name === OLDER_NAME || (status !== 400 && status !== 422)) return false;
      if (!(await beginningOf(body as AsyncIterable<Uint8Array> | null)).includes(NAME)) return false;
      name = OLDER_NAME;
      return true;
    },
  };
}

async function beginningOf(body: AsyncIterable<Uint8Array> | null): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body ?? []) {
    parts.push(part);
    bytes += part.length;
    if (bytes >= MAX_REFUSAL_BYTES) break;
  }
  return Buffer.concat(parts).toString('utf8');
}
