import { MAX_JSON_DEPTH } from '../../platform/http/contract/fields.js';
import { scanJson } from '../../platform/http/contract/json-scan.js';

/**
 * Parses JSON of a model or of a tool's server. Deeply nested JSON parses, but everything that walks through it later,
 * such as `JSON.stringify`, overflows the stack.
 * @throws SyntaxError if the text is not JSON, or nested deeper than 32 levels
 */
export function parseShallowJson(text: string): unknown {
  if (scanJson(text).depth > MAX_JSON_DEPTH) throw new SyntaxError('the JSON is nested too deeply');
  return JSON.parse(text);
}

/** Parses the arguments of a tool call; null if they are not an object, or nested too deeply. No text means none. */
export function parseToolArguments(text: string): Record<string, unknown> | null {
  if (text.trim() === '') return {};
  try {
    const value = parseShallowJson(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null;
  } catch {
    return null;
  }
}
