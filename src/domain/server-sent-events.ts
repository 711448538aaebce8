/** Longer lines than this are nobody's answer. */
const MAX_LINE_CHARACTERS = 1_000_000;

export interface ServerSentEvent {
  /** `message` unless the server names it. */
  event: string;
  data: string;
  /** The last id that the server gave, for `Last-Event-ID`. */
  id?: string;
}

/**
 * The events of a response body of type text/event-stream. Comments, and events without data, are left out.
 * @throws Error when a line is endless
 */
export async function* serverSentEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  let event = '';
  let id: string | undefined;
  let data: string[] = [];
  const told = (): ServerSentEvent => ({
    event: event === '' ? 'message' : event,
    data: data.join('\n'),
    ...(id === undefined ? {} : { id }),
  });
  for await (const chunk of body) {
    rest += decoder.decode(chunk, { stream: true });
    const lines = rest.split(/\r\n|\n|\r(?=.)/s);
    rest = lines.pop() ?? '';
    if (rest.length > MAX_LINE_CHARACTERS) throw new Error('a line of the event stream does not end');
    for (const line of lines) {
      const { name, value } = fieldOf(line);
      if (line === '') {
        if (data.length > 0) yield told();
        event = '';
        data = [];
      } else if (name === 'data') data.push(value);
      else if (name === 'event') event = value;
      else if (name === 'id') id = value;
    }
  }
  // Some servers leave out the empty line after the last one.
  if (data.length > 0) yield told();
}

function fieldOf(line: string): { name: string; value: string } {
  const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
  return { name, value };
}
