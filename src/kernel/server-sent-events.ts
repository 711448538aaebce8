/** Maximum length of one event, including an incomplete line. */
const MAX_EVENT_CHARACTERS = 1_000_000;

export interface ServerSentEvent {
  /** The event's type; `message` unless the server sets another. */
  event: string;
  data: string;
  /** The last event id that the server sent, for the `Last-Event-ID` header. */
  id?: string;
}

/**
 * Parses a response body of type text/event-stream. Comments and events without data are skipped.
 * @throws Error when an event or a line is longer than 1,000,000 characters
 */
export async function* serverSentEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  let event = '';
  let id: string | undefined;
  let data: string[] = [];
  let characters = 0;
  const finished = (): ServerSentEvent => ({
    event: event === '' ? 'message' : event,
    data: data.join('\n'),
    ...(id === undefined ? {} : { id }),
  });
  for await (const line of linesOf(body)) {
    const { name, value } = fieldOf(line);
    characters += line.length;
    if (characters > MAX_EVENT_CHARACTERS) throw tooLong();
    if (line === '') {
      if (data.length > 0) yield finished();
      event = '';
      data = [];
      characters = 0;
    } else if (name === 'data') data.push(value);
    else if (name === 'event') event = value;
    else if (name === 'id') id = value;
  }
  // Some servers omit the empty line after the last event.
  if (data.length > 0) yield finished();
}

/** Yields complete lines, which end with CR, LF or CRLF. Reads each chunk only once, however long a line is. */
async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let pieces: string[] = [];
  let characters = 0;
  let endedWithCr = false;
  for await (const chunk of body) {
    let text = decoder.decode(chunk, { stream: true });
    if (text === '') continue;
    // A chunk may end between CR and LF.
    if (endedWithCr && text.startsWith('\n')) text = text.slice(1);
    endedWithCr = text.endsWith('\r');
    const lines = text.split(/\r\n|\n|\r/);
    const rest = lines.pop() ?? '';
    for (const line of lines) {
      yield pieces.length === 0 ? line : pieces.join('') + line;
      pieces = [];
      characters = 0;
    }
    if (rest !== '') pieces.push(rest);
    characters += rest.length;
    if (characters > MAX_EVENT_CHARACTERS) throw tooLong();
  }
}

function tooLong(): Error {
  return new Error('an event of the event stream is too long');
}

function fieldOf(line: string): { name: string; value: string } {
  const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
  return { name, value };
}
