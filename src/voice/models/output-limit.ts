const NAME = 'max_completion_tokens';
/**
 * The older name of the parameter that limits the output tokens. Some servers accept only this name; OpenAI's reasoning
 * models reject it.
 */
const OLDER_NAME = 'max_tokens';
const MAX_REJECTION_BYTES = 8_192;

interface Reply {
  ok: boolean;
  status: number;
  body: unknown;
}

/**
 * Sends a chat model's output token limit under the parameter name that its server accepts, starting with OpenAI's
 * current name.
 */
export function createOutputLimit(tokens: number) {
  let known = NAME;
  return {
    /**
     * Sends a request with the limit. If the server rejects the parameter name, sends the request again with the other
     * name. Later requests use the other name only if the server accepted it here, because an error message may just
     * quote the request, and one customer's request must not change what is sent for others.
     * @param post must not read the body of a response with status 400 or 422
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

/** Whether a response may reject the parameter name. Reads the body of a 400 or 422. */
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
