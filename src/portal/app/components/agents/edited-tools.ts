import type { Agent } from '../../../../agents/schemas.js';
import { urlFrom } from '../../../../kernel/text.js';

type Tool = NonNullable<Agent['tools']>[number];

export type EditedTool = Tool & {
  /** Stable key for rendering. */
  key: string;
  headers?: Record<string, string | null>;
  /** Name and URL stored by the service; absent for a new tool. */
  stored?: { name: string; url: string };
};

/**
 * Converts stored tools to form values.
 * @param before the submitted tools, whose keys are kept, so that they stay expanded
 */
export function editedTools(tools: readonly Tool[] = [], before: readonly EditedTool[] = []): EditedTool[] {
  return tools.map((tool, index) => {
    const { name, url } = tool;
    return { ...tool, key: before[index]?.key ?? name, stored: { name, url } };
  });
}

/** Converts a tool to its form in a request. */
export function givenTool(tool: EditedTool) {
  const { key: _key, header_names: names = [], stored: _stored, headers = {}, ...fields } = tool;
  if (keepsHeaders(tool)) return Object.keys(headers).length === 0 ? fields : { ...fields, headers };
  // The service would drop the stored headers. Send them with empty values, which it rejects by header name, so that no
  // header disappears unnoticed.
  const again = { ...Object.fromEntries(names.map((name) => [name, ''])), ...headers };
  const given = Object.fromEntries(Object.entries(again).filter(([, value]) => value !== null));
  return Object.keys(given).length === 0 ? fields : { ...fields, headers: given };
}

/** Whether a tool keeps its stored headers. It does while its name and the origin of its URL are the stored ones. */
export function keepsHeaders({ name, url, stored }: EditedTool): boolean {
  return stored !== undefined && name === stored.name && originOf(url) === originOf(stored.url);
}

function originOf(url: string): string {
  return urlFrom(url)?.origin ?? '';
}
