import type { ChatMessage } from './ports.js';

/** What a model is given of a long talk beside its prompt, in UTF-8: the newest part. */
const MAX_BYTES = 60_000;

/** Something said in the talk; what a reply adds is known only bit by bit. */
interface Part {
  messages(): readonly ChatMessage[];
}

export type Talk = ReturnType<typeof createTalk>;

/** The talk as the model is told it, in order. */
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
    /** What the telephone has to say, not the far end. */
    note(text: string): void {
      parts.push({ messages: () => [noteMessage(text)] });
    },
    agent(text: string): void {
      parts.push({ messages: () => [{ role: 'assistant', content: text }] });
    },
    /** Tools and their answers stay together: a part is taken whole or not at all. */
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

/** All that is sent: the arguments of tools, and what marks a message as one, too. */
function bytesOf(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, message) => sum + Buffer.byteLength(JSON.stringify(message)), 0);
}

export function noteMessage(text: string): ChatMessage {
  return { role: 'user', content: `[${text}]` };
}

/** Nobody can say a bracket. */
export function callerMessage(text: string): ChatMessage {
  return { role: 'user', content: text.replace(/[[\]]/g, '') };
}
