/**
 * Models that reason unless `reasoning_effort` is `none`. On `/chat/completions` they reject tools without this value
 * (https://developers.openai.com/api/docs/models/gpt-6-luna). The names are those of `ChatModel` in the npm package
 * `openai` 7.57.0; gateways put the provider's name in front. `gpt-6-astra` is not included, because it rejects `none`.
 */
const REASON_BY_DEFAULT = /(^|\/)gpt-(5\.6|6|6\.1)(-(?!astra)|$)/;

/** Models that reject `none`, and therefore tools on `/chat/completions` (BerriAI/litellm-docs pull request 1173). */
const ALWAYS_REASONS = /(^|\/)gpt-6-astra/;

/** Whether a model cannot call tools on `/chat/completions`. */
export function rejectsTools(model: string): boolean {
  return ALWAYS_REASONS.test(model);
}

/** Settings of a chat model that decide its reasoning. */
export interface ReasoningSettings {
  model: string;
  /** The operator's choice, which is used instead of the one for the model's family. */
  reasoningEffort?: string;
}

/**
 * Lists the values of `reasoning_effort` to try, the likeliest first; undefined stands for a request without the field.
 * Models of unknown families get no such field at first, because models that do not reason reject it.
 */
export function reasoningEfforts({ model, reasoningEffort }: ReasoningSettings): readonly (string | undefined)[] {
  const byFamily = REASON_BY_DEFAULT.test(model) ? 'none' : undefined;
  return [...new Set([reasoningEffort ?? byFamily, 'none', undefined])];
}
