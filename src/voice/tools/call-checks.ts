import type { ToolCall, ToolDefinition } from '../engines/port.js';
import { endsCall } from '../session/reducer/tools.js';
import { argumentFault, isQuickToValidate } from './arguments.js';
import { createRefillingBudget } from './refilling-budget.js';
import type { ToolQueues, ToolUser } from './tool-queues.js';

/**
 * Maximum tool calls per phone call, rejected ones included, to stop a model that calls tools in a loop. No real
 * conversation needs so many. Tools by which the agent leaves the phone call do not count.
 */
const MAX_CALLS = 100;
/** Steps that the validations of one phone call may take at its start, and each second. The longest one takes 20,000. */
const STEPS_AT_ONCE = 40_000;
const STEPS_PER_SECOND = 4_000;

/**
 * Decides which tool calls of one phone call run. The time that this takes in total is limited, because a model may
 * repeat calls that are rejected.
 * @param p.offered the only tools that run
 * @param p.now current time in ms
 */
export function createCallChecks(p: {
  queues: ToolQueues;
  user: ToolUser;
  offered: readonly ToolDefinition[];
  now: () => number;
}) {
  const { queues, user, now } = p;
  const definitions = new Map(p.offered.map((definition) => [definition.name, definition]));
  const budget = createRefillingBudget({ size: STEPS_AT_ONCE, perSecond: STEPS_PER_SECOND, now });
  let calls = 0;

  async function check({ name, arguments: given }: ToolCall, signal: AbortSignal): Promise<string | undefined> {
    const definition = definitions.get(name);
    if (!endsCall(name) && ++calls > MAX_CALLS) return 'this call has made too many tool requests';
    if (definition === undefined) return `unknown tool ${name.slice(0, 64)}`;
    const validate = () => argumentFault(definition, given, budget);
    return isQuickToValidate(definition, given) ? validate() : queues.compute(user, validate, signal);
  }

  return {
    /** @returns whether a tool of this name was offered */
    has: (name: string) => definitions.has(name),

    /**
     * Checks a tool call after the earlier ones. Returns an error message for the model, or undefined if the tool runs.
     * @throws the reason of `signal` if it is aborted before the check begins
     */
    faultOf: (call: ToolCall, signal: AbortSignal) => queues.begin(user, signal, () => check(call, signal)),
  };
}
