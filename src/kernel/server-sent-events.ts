/** Characters of one event, its unfinished line included. */
const MAX_EVENT_CHARACTERS = 1_000_000;

export interface ServerSentEvent {
  /** `message` unless the server names it. */
  event: string;
  data: string;
  /** The last id that the server gave, for `Last-Event-ID`. */
  id?: string;
}

/**
 * Reads the events of a response body of type text/event-stream. Comments, and events without data, are left out.
 * @throws Error when an event or a line does not end within 1,000,000 characters
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
  // Some servers leave out the empty line after the last event.
  if (data.length > 0) yield finished();
}

/** The complete lines; CR, LF or both end one. Each chunk is scanned once, however long its line is. */
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
  return new Error('an event of the event stream does not end');
}

function fieldOf(line: string): { name: string; value: string } {
  const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
  return { name, value };
}
