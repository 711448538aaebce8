import type { ChatMessage } from './ports.js';

/** Maximum chat history sent to the LLM besides the prompt, in UTF-8 bytes; the newest part is kept. */
const MAX_BYTES = 60_000;

/** A part of the chat history. The messages of a reply in progress change while it is spoken. */
interface Part {
  messages(): readonly ChatMessage[];
}

export type ChatHistory = ReturnType<typeof createChatHistory>;

/** The chat history of a call, in order. */
export function createChatHistory(prompt: string) {
  const parts: Part[] = [];

  return {
    addPart(part: Part): void {
      parts.push(part);
    },
    addCaller(text: string): void {
      const message = callerMessage(text);
      parts.push({ messages: () => [message] });
    },
    /** Adds information from the phone system, marked so that the LLM does not take it for the caller's words. */
    addNote(text: string): void {
      parts.push({ messages: () => [createNoteMessage(text)] });
    },
    addAgent(text: string): void {
      parts.push({ messages: () => [{ role: 'assistant', content: text }] });
    },
    /** The newest parts that fit into the limit. Parts stay whole, so that tool calls and results stay together. */
    messages(): ChatMessage[] {
      const kept: (readonly ChatMessage[])[] = [];
      let bytes = 0;
      for (const part of parts.toReversed()) {
        const messages = part.messages();
        bytes += bytesOf(messages);
        if (bytes > MAX_BYTES && kept.length > 0) break;
        kept.unshift(messages);
      }
      return [{ role: 'system', content: `${prompt}\n\n${NOTES}` }, ...kept.flat()];
    },
  };
}

const NOTES = `# Notes
Lines in [square brackets] come from the telephone system and not from the other person. Do not read them aloud and do not write such lines.`;

/** Size of the messages as JSON, including tool arguments and field names. */
function bytesOf(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, message) => sum + Buffer.byteLength(JSON.stringify(message)), 0);
}

export function createNoteMessage(text: string): ChatMessage {
  return { role: 'user', content: `[${text}]` };
}

/** Converts the caller's words to a message. Removes brackets, which mark notes of the phone system. */
export function callerMessage(text: string): ChatMessage {
  return { role: 'user', content: text.replace(/[[\]]/g, '') };
}
