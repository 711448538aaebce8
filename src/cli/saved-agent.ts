import type { Output } from './output.js';

interface Saved {
  warnings?: readonly { param: string; message: string }[] | undefined;
}

/** Writes a saved agent. People see the warnings about it below its fields. */
export async function recordSavedAgent(out: Output, sentence: string, agent: object & Saved): Promise<void> {
  const { warnings = [], ...shown } = agent;
  await out.record(sentence, agent, shown);
  if (out.json) return;
  for (const { param, message } of warnings) out.line({}, `warning: ${param}: ${message}`);
}
