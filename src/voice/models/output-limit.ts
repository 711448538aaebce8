const NAME = 'max_completion_tokens';
/** OpenAI's reasoning models reject this one, and some other servers know no other. */
const OLDER_NAME = 'max_tokens';
const MAX_REJECTION_BYTES = 8_192;

interface Reply {
  ok: boolean;
  status: number;
  body: unknown;
}

/**
 * The limit of what a chat model may write, in tokens, under the name that its server knows. It starts with OpenAI's
 * current name.
 */
export function createOutputLimit(tokens: number) {
  let known = NAME;
  return {
    /**
     * Sends a request with the limit. When the server rejects the name of the limit, the request is sent once more under
     * the other name. That name is kept only if the server accepts it: the text of a rejection may quote the request,
     * and one customer's request must not change what is sent for others.
     * @param post reads the body of no reply with status 400 or 422
     */
    async send<R extends Reply>(post: (limit: Record<string, number>) => Promise<R>): Promise<R> {
      const name = known;
      const reply = await post({ [name]: tokens });
      if (!(await mayReject(reply, name))) return reply;
      const other = name === NAME ? OLDER_NAME : NAME;
      const second = await post({ [other]: tokens });
      if (second.ok) known = other;
      return second;
    },
  };
}

/** Whether a reply may reject the name of the limit. Reads the body of a 400 or 422. */
async function mayReject({ status, body }: Reply, name: string): Promise<boolean> {
  if (status !== 400 && status !== 422) return false;
  return (await beginningOf(body as AsyncIterable<Uint8Array> | null)).includes(name);
}

async function beginningOf(body: AsyncIterable<Uint8Array> | null): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body ?? []) {
    parts.push(part);
    bytes += part.length;
    if (bytes >= MAX_REJECTION_BYTES) break;
  }
  return Buffer.concat(parts).toString('utf8');
}
