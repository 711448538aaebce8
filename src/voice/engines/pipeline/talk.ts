import type { ChatMessage } from './ports.js';

/** Maximum chat history sent to the LLM besides the prompt, in UTF-8 bytes; the newest part is kept. */
const MAX_BYTES = 60_000;

/** A part of the chat history; the messages of a running reply still grow. */
interface Part {
  messages(): readonly ChatMessage[];
}

export type Talk = ReturnType<typeof createTalk>;

/** The chat history of a call, in order. */
export function createTalk(prompt: string) {
  const parts: Part[] = [];

  return {
    add(part: Part): void {
      parts.push(part);
    },
    caller(text: string): void {
      const message = callerMessage(text);
      parts.push({ messages: () => [message] });
    },
    /** Adds a note of the phone system, as opposed to the caller's words. */
    note(text: string): void {
      parts.push({ messages: () => [noteMessage(text)] });
    },
    agent(text: string): void {
      parts.push({ messages: () => [{ role: 'assistant', content: text }] });
    },
    /** Keeps or drops each part as a whole, so that tool calls and results stay together. */
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
Lines in [square brackets] come from the telephone system and not from the far end. Do not read them aloud and do not write any.`;

/** Size of the complete JSON, including tool arguments and message fields. */
function bytesOf(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, message) => sum + Buffer.byteLength(JSON.stringify(message)), 0);
}

export function noteMessage(text: string): ChatMessage {
  return { role: 'user', content: `[${text}]` };
}

/** Removes brackets, which mark notes and cannot be spoken. */
export function callerMessage(text: string): ChatMessage {
  return { role: 'user', content: text.replace(/[[\]]/g, '') };
}
