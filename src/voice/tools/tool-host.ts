import { DTMF_PATTERN, type DtmfTones } from '../audio/dtmf.js';
import type { DialGate } from '../../telephony/destinations/dial-gate.js';
import { rateOf } from '../../kernel/money.js';
import { isTransferAffordable, type RateDeck } from '../../kernel/destinations/rate-deck.js';
import type { EgressClient } from '../../platform/egress/client.js';
import type { Accounts } from '../../identity/accounts/accounts.js';
import type { StreamedCall } from '../call-reader.js';
import type { SecretBox } from '../../platform/secrets/secret-box.js';
import { maySendSecrets } from '../../agents/agent-mode.js';
import { openToolHeaders } from '../../agents/tool-headers.js';
import type { WebhookSecrets } from '../../webhooks/signing/secrets.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import type { ToolResult, ToolCall, ToolDefinition } from '../engines/port.js';
import { waitAtMost } from '../session/wait-at-most.js';
import { createCallChecks } from './call-checks.js';
import { createResultBudget } from './result-budget.js';
import { callToolServer } from './http-tool.js';
import type { ToolQueues } from './tool-queues.js';

/** Timeout of a tool call, which `EngineSink.runTool` promises to engines. */
const ANSWER_WITHIN_MS = 15_000;
/** How long a tool call may wait for others. A request, which takes at most 10 s, then still ends in time. */
const WAIT_AT_MOST_MS = 5_000;
/**
 * Replaces a result that exceeds the budget. It counts as a success, because the server may have acted on the request.
 */
const LEFT_OUT: ToolResult = {
  ok: true,
  result:
    'done; the result is left out, because the tools have returned too much data. Continue without it, or ask again in a minute.',
};

/** The actions by which tools affect the call. */
export interface ToolLine {
  /** Ends the call after the queued audio has played. */
  end(): void;
  /** Transfers the remote party after the queued audio has played; false if the call is already ending. */
  transfer(to: string): boolean;
  /** Plays DTMF tones after the queued audio; false if they were interrupted. */
  playTones(mulaw: Uint8Array): Promise<boolean>;
}

export interface ToolHostDeps {
  accounts: Accounts;
  dialGate: DialGate;
  rates: RateDeck;
  /** Whether live calls may be transferred. */
  liveTransfers: boolean;
  webhookSecrets: Pick<WebhookSecrets, 'toolKeys'>;
  secretBox: SecretBox;
  egress: EgressClient;
  /** Shared by all calls of the process. */
  queues: ToolQueues;
  dtmfTones: DtmfTones;
  logger: Logger;
}

export interface ToolHost {
  /** Runs a tool call when the earlier ones of the phone call have begun. Never rejects; takes at most 15 s. */
  run(call: ToolCall): Promise<ToolResult>;
}

/**
 * Runs the tools of one call. Tools can transfer only to the numbers, and call only the servers, in the agent's
 * settings; any other request of the model or the remote party is rejected.
 * @param offered the tools that the engine was given; no other tool runs
 */
export function createToolHost(
  deps: ToolHostDeps,
  request: StreamedCall,
  offered: readonly ToolDefinition[],
  line: ToolLine,
): ToolHost {
  const { logger, queues } = deps;
  const { _id: callId, accountId, mode, agent } = request;
  const user = { callId, accountId, mode };
  const checks = createCallChecks({ queues, user, offered, now: () => performance.now() });
  const room = createResultBudget(() => performance.now());
  let transferring = false;

  async function perform(call: ToolCall): Promise<ToolResult> {
    const waiting = AbortSignal.timeout(WAIT_AT_MOST_MS);
    try {
      const fault = await checks.faultOf(call, waiting);
      return fault === undefined ? await use(call, waiting) : { ok: false, error: fault };
    } catch (error) {
      if (error !== waiting.reason) throw error;
      return { ok: false, error: 'too many tools are in use; try again in a few seconds' };
    }
  }

  /** @param waiting aborts when the tool may not wait any longer for others */
  async function use({ name, arguments: given }: ToolCall, waiting: AbortSignal): Promise<ToolResult> {
    switch (name) {
      case 'end_call':
        line.end();
        return { ok: true, result: 'The call ends now. Say nothing more.' };
      case 'send_dtmf':
        return press(String(given['digits']));
      case 'transfer_call':
        return transfer(String(given['number']));
      default:
        return ask(name, given, waiting);
    }
  }

  async function press(digits: string): Promise<ToolResult> {
    if (!DTMF_PATTERN.test(digits)) return { ok: false, error: 'digits may contain only 0-9, *, #, A-D and commas' };
    const wasHeard = await line.playTones(deps.dtmfTones.render(digits));
    return wasHeard
      ? { ok: true, result: 'pressed' }
      : { ok: false, error: 'the tones of the digits were interrupted' };
  }

  async function transfer(number: string): Promise<ToolResult> {
    // The schema already limits the numbers. Check again, because this decides which number is dialed.
    if (agent.transferNumbers?.includes(number) !== true) return { ok: false, error: 'this number is not allowed' };
    // Allow only one transfer at a time, because the limits count only one transfer per call.
    if (transferring) return { ok: false, error: 'the call is being transferred already' };
    transferring = true;
    let isUnderWay = false;
    try {
      const answer = await transferCounted(number);
      isUnderWay = answer.ok;
      return answer;
    } finally {
      transferring = isUnderWay;
    }
  }

  /** Transfers the call if the number passes the checks and limits that a separate call to it would have to pass. */
  async function transferCounted(number: string): Promise<ToolResult> {
    const { dialGate } = deps;
    const account = await deps.accounts.find(request.accountId);
    if (account === null || (await dialGate.findDestinationFault(number, account, request.mode)) !== undefined) {
      return { ok: false, error: 'this number may not be called' };
    }
    if (!isTransferAffordable(deps.rates, number, rateOf(request))) {
      logger.warn({ callId }, 'transfer rejected: the number costs more than the call');
      return { ok: false, error: 'this number cannot be called' };
    }
    const dial = { account, mode: request.mode, callId, leg: 'transfer' as const, to: number };
    if (await dialGate.count(dial)) return { ok: false, error: 'this number was called too often; try again later' };
    if (line.transfer(number))
      return { ok: true, result: 'The other person is being transferred now. Say nothing more.' };
    await dialGate.release(dial);
    return { ok: false, error: 'the call is ending' };
  }

  async function ask(name: string, given: Record<string, unknown>, waiting: AbortSignal): Promise<ToolResult> {
    const tool = agent.tools?.find((each) => each.name === name);
    if (tool === undefined) return { ok: false, error: 'the tool does not exist' };
    const answer = await queues.request(user, waiting, async () => {
      // Read the keys for each request, because a secret may be replaced during a call.
      const keys = await deps.webhookSecrets.toolKeys(accountId, mode);
      const headers = maySendSecrets(agent, mode) ? openToolHeaders(tool, accountId, deps.secretBox) : {};
      const compute = <T>(work: () => T) => queues.compute(user, work);
      return callToolServer(deps.egress, tool, given, { ...user, keys, headers, compute });
    });
    if (!answer.ok || room.takes(answer.result)) return answer;
    logger.warn({ callId, tool: name }, 'tool result dropped: result budget of the call exhausted');
    return LEFT_OUT;
  }

  return {
    async run(call) {
      const startedAt = performance.now();
      // Names that the model invents are not logged.
      const tool = checks.has(call.name) ? call.name : undefined;
      let answer: ToolResult | undefined;
      try {
        answer = await waitAtMost(ANSWER_WITHIN_MS, perform(call));
      } catch (error) {
        logger.warn({ callId, tool, err: error }, 'tool failed');
        answer = { ok: false, error: 'the tool is unavailable' };
      }
      answer ??= { ok: false, error: 'the tool timed out' };
      const ms = Math.round(performance.now() - startedAt);
      logger.info({ callId, tool, ok: answer.ok, ms }, 'tool used');
      return answer;
    },
  };
}
