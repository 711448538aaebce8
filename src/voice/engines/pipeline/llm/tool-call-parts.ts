import { isJson } from '../../../../kernel/text.js';
import { z } from 'zod';
import type { ToolRequest } from '../ports.js';
import { assertFew } from './model-stream.js';

/** A part of a tool call in a streamed completion. Compatible servers omit fields or send null where OpenAI does not. */
export const toolCallPart = z.object({
  index: z.number().int().min(0).nullish(),
  id: z.string().nullish(),
  function: z.object({ name: z.string().nullish(), arguments: z.string().nullish() }).nullish(),
});

type ToolCallPart = z.infer<typeof toolCallPart>;

/**
 * Joins the parts of tool calls: the id and the name come first, then the arguments in several parts. OpenAI numbers
 * parallel calls. Google sends them whole and without a number (AstrBotDevs/AstrBot#6661), and other servers number all
 * of them 0, so a part that begins with another id begins another call.
 */
export function joinToolCalls() {
  const calls: ToolRequest[] = [];
  /** The call that the parts with a number belong to. */
  const numbered = new Map<number, ToolRequest>();
  let last: ToolRequest | undefined;

  function begin(): ToolRequest {
    assertFew(calls.length + 1);
    const call = { id: '', name: '', arguments: '' };
    calls.push(call);
    return call;
  }

  return {
    add({ index, id, function: asked }: ToolCallPart): void {
      const known = typeof index === 'number' ? numbered.get(index) : last;
      const call = known === undefined || isAnother(known, id, asked?.name) ? begin() : known;
      if (typeof index === 'number') numbered.set(index, call);
      last = call;
      if (id) call.id = id;
      if (asked?.name) call.name = asked.name;
      call.arguments += asked?.arguments ?? '';
    },
    /** The calls that have a name, in the order in which they began. */
    all: (): ToolRequest[] =>
      calls.filter(({ name }) => name !== '').map((call, at) => ({ ...call, id: call.id || `call_${at}` })),
  };
}

/** Whether a part with this id and name belongs to another call. Some servers repeat both in each part. */
function isAnother(call: ToolRequest, id: string | null | undefined, name: string | null | undefined): boolean {
  if (!name || call.name === '') return false;
  if (id && call.id !== '') return id !== call.id;
  // Without ids, only a complete call can be followed by another one.
  return !id && call.id === '' && isJson(call.arguments);
}
